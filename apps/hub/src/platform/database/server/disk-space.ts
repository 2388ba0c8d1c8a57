import { randomFillSync } from 'node:crypto'
import { open, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { every } from '@muster/concurrency'
import { mebibytes } from '../../runtime/disk-space.ts'
import type { Logger } from '../../runtime/log.ts'
import { sqlState } from '../client/errors.ts'
import type { Readiness } from './readiness.ts'

const MIB = 1024 * 1024
/** Interval of checks of the free space, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000
/** Minimum of free space for requesting a checkpoint, in bytes. PostgreSQL panics when it cannot write a checkpoint's files. */
const CHECKPOINT_FREE_BYTES = 16 * MIB
/** Minimum time between two checkpoints while space is low, in milliseconds. */
const CHECKPOINT_MS = 60_000
/** Time for which the disk counts as full after the database reported a full disk, in milliseconds. */
const FULL_MS = 60_000
const DISK_FULL = '53100'

/** Size of the reserve file, in bytes. */
const RESERVE_BYTES = 64 * 1024 ** 2

/** The disk of an embedded database. */
export type WatchedDisk = {
  /** Folder of the hub on that disk, which holds the reserve file. */
  folder: string
  /** Requests a checkpoint, after which PostgreSQL recycles its write-ahead log. */
  checkpoint: () => Promise<void>
}

export type DiskSpaceOptions = {
  /** Disk whose free space is checked. Undefined for an external database, whose full disk only SQLSTATE 53100 reports. */
  disk: WatchedDisk | undefined
  /** Free space in bytes below which the hub refuses large values from devices and a high rate of writes. */
  lowBytes: number
  /** Size of the reserve file, in bytes; undefined for `RESERVE_BYTES`. */
  reserveBytes?: number | undefined
  readiness: Pick<Readiness, 'degrade' | 'restore'>
  log: Logger
  checkIntervalMs?: number
  fullMs?: number
}

/**
 * Watches the disk of the database. While `lowReason` returns a reason, writers refuse large values and high rates. A reserve file
 * is deleted when the disk is nearly full, so that people can still sign in and delete. The reserve file is written again when
 * there is enough space.
 */
export class DiskSpace implements AsyncDisposable {
  readonly #options: DiskSpaceOptions & { reserveBytes: number }
  readonly #reserve: string | undefined
  readonly #loop: AsyncDisposable
  #lowReason: string | undefined
  #hasReserve = false
  #fullUntilMs = Number.NEGATIVE_INFINITY
  #checkpointAtMs = Number.NEGATIVE_INFINITY

  constructor(options: DiskSpaceOptions) {
    const { disk, log, checkIntervalMs = CHECK_INTERVAL_MS } = options
    this.#options = { ...options, reserveBytes: options.reserveBytes ?? RESERVE_BYTES }
    this.#reserve = disk && join(disk.folder, 'reserve')
    this.#loop = every(
      checkIntervalMs,
      () => this.#check(),
      error => log.warn({ err: error }, 'the check of the disk space failed'),
    )
  }

  /** Whether the database is on a disk of this machine. */
  get isWatching(): boolean {
    return this.#options.disk !== undefined
  }

  /** Reason why large values and high rates are refused at the moment, or undefined. */
  lowReason(): string | undefined {
    return this.#lowReason
  }

  /** Examines the error of a statement: SQLSTATE 53100 means that the database's disk is full. */
  note(error: unknown): void {
    if (sqlState(error) !== DISK_FULL) return
    const { fullMs = FULL_MS } = this.#options
    this.#fullUntilMs = performance.now() + fullMs
    this.#setLow(`the database reported a full disk, SQLSTATE ${DISK_FULL}`)
  }

  async #check(): Promise<void> {
    const { disk, lowBytes, reserveBytes } = this.#options
    const nowMs = performance.now()
    const isFull = nowMs < this.#fullUntilMs
    if (!disk) {
      if (!isFull) this.#setLow(undefined)
      return
    }
    const { bavail, bsize } = await statfs(disk.folder)
    const freeBytes = bavail * bsize
    if (isFull || freeBytes < Math.max(reserveBytes / 2, lowBytes / 4)) await this.#deleteReserve(freeBytes)
    // Hysteresis: the low state ends a tenth above the threshold, so that it does not begin again immediately.
    const isLow = freeBytes < (this.#lowReason === undefined ? lowBytes : lowBytes * 1.1)
    if (isLow) {
      const isSpent = this.#hasReserve ? '' : ', and the reserve is used up'
      this.#setLow(`${mebibytes(freeBytes)} are free, expected at least ${mebibytes(lowBytes)}${isSpent}`)
      if (freeBytes >= CHECKPOINT_FREE_BYTES && nowMs - this.#checkpointAtMs > CHECKPOINT_MS) {
        this.#checkpointAtMs = nowMs
        await disk.checkpoint()
      }
    } else if (!isFull) {
      this.#setLow(undefined)
      if (!this.#hasReserve && freeBytes > lowBytes * 1.1 + reserveBytes) await this.#makeReserve()
    }
  }

  #setLow(reason: string | undefined): void {
    const { readiness, log } = this.#options
    const wasLow = this.#lowReason !== undefined
    this.#lowReason = reason
    if (reason !== undefined) {
      readiness.degrade(
        'disk',
        `disk space is low: ${reason}; large values and high rates of devices are refused`,
      )
      if (!wasLow)
        log.error({ reason }, 'disk space is low: large values and high rates of devices are refused')
    } else if (wasLow) {
      readiness.restore('disk')
      log.info('disk space is sufficient again')
    }
  }

  async #deleteReserve(freeBytes: number): Promise<void> {
    if (!this.#hasReserve) return
    await rm(this.#reserve!, { force: true })
    this.#hasReserve = false
    this.#options.log.error(
      { freeBytes, reserveBytes: this.#options.reserveBytes },
      'the disk is nearly full: the reserve file was deleted, so that people can sign in and delete',
    )
  }

  async #makeReserve(): Promise<void> {
    const { reserveBytes } = this.#options
    const path = this.#reserve!
    const size = await stat(path).then(
      found => found.size,
      () => 0,
    )
    if (size < reserveBytes) {
      const draft = `${path}.draft`
      const file = await open(draft, 'w', 0o600)
      try {
        // Random bytes, because a compressing file system would store zeros in almost no space.
        const chunk = randomFillSync(Buffer.alloc(MIB))
        for (let written = 0; written < reserveBytes; written += chunk.length)
          await file.write(chunk, 0, Math.min(chunk.length, reserveBytes - written))
        await file.sync()
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      } finally {
        await file.close()
      }
      await rename(draft, path)
    }
    this.#hasReserve = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
  }
}
