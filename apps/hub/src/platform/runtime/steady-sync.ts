import type { FileHandle } from 'node:fs/promises'

/** Number of written bytes after which a sync begins. */
const PORTION_BYTES = 8 * 1024 ** 2

/**
 * Syncs a file in portions while it is written. One sync at the end would write the whole file to the disk at once, and commits of the
 * database on the same disk would wait for it.
 */
export class SteadySync {
  readonly #file: Pick<FileHandle, 'datasync' | 'sync'>
  #unsyncedBytes = 0
  #syncing: Promise<void> = Promise.resolve()

  constructor(file: Pick<FileHandle, 'datasync' | 'sync'>) {
    this.#file = file
  }

  /**
   * Counts bytes that were written. While they are written to the disk, the next portion can be written to the file. Throws the error of
   * an earlier sync.
   */
  async wrote(bytes: number): Promise<void> {
    this.#unsyncedBytes += bytes
    if (this.#unsyncedBytes < PORTION_BYTES) return
    this.#unsyncedBytes = 0
    await this.#syncing
    this.#syncing = this.#file.datasync()
    this.#syncing.catch(() => {}) // The next call throws the error.
  }

  /** Waits until the disk has the whole file. Throws the error of an earlier sync. */
  async end(): Promise<void> {
    await this.#syncing
    await this.#file.sync()
  }
}
