import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chown, type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { ActionError } from '@muster/actions'
import { SteadySync } from '../runtime/steady-sync.ts'
import { syncFolder } from '../runtime/sync-folder.ts'
import { Digester, type Expected } from './digest.ts'
import type { BlobDriver, Staged } from './driver.ts'
import { pipeUpload } from './upload-stream.ts'

/** Size of an upload's buffer: 1 MiB, in bytes. Up to twice as much is in memory, as one buffer is written while the next one fills. */
const BUFFER_BYTES = 1024 * 1024
/**
 * Time without writes after which an incoming file counts as left over: 15 minutes, in milliseconds. The hub aborts stalled uploads
 * much earlier.
 */
const DEAD_UPLOAD_MS = 15 * 60 * 1000
/** Share of the disk that uploads leave free, because the database may be on the same disk. */
const RESERVED_SHARE = 1 / 20
/** Maximum disk space that uploads leave free, in bytes: 1 GiB. */
const MAX_RESERVED_BYTES = 1024 ** 3
/**
 * Time for which files without a blob are kept: 7 days, in milliseconds. If an older backup of the database is restored, its
 * rows may refer to such files.
 */
const KEEP_LOST_MS = 7 * 24 * 60 * 60 * 1000

const INCOMING = 'incoming'

/** File that no blob needs: remains of an aborted upload, a file without a blob, or one that was moved to `lost/`. */
export type Leftover = { kind: 'upload' | 'unknown' | 'lost'; path: string; sizeBytes: number }

/** Returns those of the file names that belong to a blob. */
type AreKnown = (names: string[]) => Promise<Set<string>>

/** Folder of a hub's blobs (repository files). Nodes of a cluster that store files in folders must share it. */
export function blobFolder(dataDir: string): string {
  return join(dataDir, 'blobs')
}

/** Folder of files whose upload has not ended. */
export function incomingFolder(dataDir: string): string {
  return join(blobFolder(dataDir), INCOMING)
}

/** Space that uploads and backups leave free on the disk of the data folder, in bytes. */
export function reservedBytes({ blocks, bsize }: { blocks: number; bsize: number }): number {
  return Math.min(blocks * bsize * RESERVED_SHARE, MAX_RESERVED_BYTES)
}

/** Blobs in a folder of the hub. Files are spread over subfolders, because folders with many files are slow. */
export class LocalFolder implements BlobDriver {
  readonly #folder: string
  readonly #incoming: string
  readonly #lost: string
  /** Bytes that uploads in flight have not written yet. */
  #comingBytes = 0

  constructor(folder: string) {
    this.#folder = folder
    this.#incoming = join(folder, INCOMING)
    this.#lost = join(folder, 'lost')
  }

  pathOf(name: string): string {
    // The subfolder is the hex of the id's last two characters: base58 is case-sensitive, and some file systems are not.
    const shard = Buffer.from(name.slice(-2)).toString('hex')
    return join(this.#folder, shard, name)
  }

  async sizeOf(name: string): Promise<number | undefined> {
    const found = await stat(this.pathOf(name)).catch(unlessAbsent)
    return found?.size
  }

  async stage(name: string, expected: Expected, body: Readable, signal: AbortSignal): Promise<Staged> {
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 })
    using room = await this.#roomFor(expected.sizeBytes)
    const path = join(this.#incoming, `${name}.${randomUUID()}`)
    const discard = (): Promise<void> => rm(path, { force: true })
    try {
      const digester = new Digester(expected)
      const file = await open(path, 'wx', 0o600)
      try {
        const sync = new SteadySync(file)
        await pipeUpload(body, new HashingFile(file, digester, sync, room.take), signal)
        const sha256 = digester.finish()
        await sync.end()
        return { sha256, discard, commit: () => this.#publish(path, this.pathOf(name)) }
      } finally {
        await file.close()
      }
    } catch (error) {
      await discard()
      throw isFull(error) ? diskFull(error) : error
    }
  }

  async read(name: string): Promise<Readable> {
    return createReadStream(this.pathOf(name), { highWaterMark: BUFFER_BYTES })
  }

  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { force: true })
  }

  /** Clears all leftovers. Resolves to the numbers of removed files and of files moved to `lost/`. */
  async sweep(areKnown: AreKnown): Promise<{ removed: number; lost: number }> {
    const swept = { removed: 0, lost: 0 }
    for await (const leftover of this.leftovers(areKnown)) {
      await this.clear(leftover)
      swept[leftover.kind === 'unknown' ? 'lost' : 'removed']++
    }
    return swept
  }

  /** Lists the files that no blob needs, subfolder by subfolder. Files in `lost/` count once they are `keepLostMs` old, 7 days by default. */
  async *leftovers(areKnown: AreKnown, keepLostMs = KEEP_LOST_MS): AsyncGenerator<Leftover> {
    yield* olderFiles('upload', this.#incoming, DEAD_UPLOAD_MS, 'mtimeMs')
    // `rename` changes ctime but not mtime, so ctime is the time when the file was moved to `lost/`.
    yield* olderFiles('lost', this.#lost, keepLostMs, 'ctimeMs')
    for (const shard of await namesIn(this.#folder)) {
      if (!/^[0-9a-f]{4}$/.test(shard)) continue
      const names = await namesIn(join(this.#folder, shard))
      if (names.length === 0) continue
      const known = await areKnown(names)
      for (const name of names.filter(name => !known.has(name)))
        yield* olderFiles('unknown', join(this.#folder, shard), 0, 'ctimeMs', [name])
    }
  }

  /** Moves a file without a blob to `lost/`, and removes other leftovers. Does nothing if another process was faster. */
  async clear({ kind, path }: Leftover): Promise<void> {
    if (kind !== 'unknown') return rm(path, { force: true })
    if ((await mkdir(this.#lost, { recursive: true, mode: 0o700 })) !== undefined) {
      // If root runs the command, the folder belongs to the account of the hub.
      const { uid, gid } = await stat(this.#folder)
      if (uid !== process.getuid?.()) await chown(this.#lost, uid, gid)
    }
    await rename(path, join(this.#lost, basename(path))).catch(unlessAbsent)
  }

  /** Moves a complete file to its place. The move is durable when this resolves. */
  async #publish(from: string, to: string): Promise<void> {
    const shard = dirname(to)
    const isNewShard = (await mkdir(shard, { recursive: true, mode: 0o700 })) !== undefined
    await rename(from, to)
    await syncFolder(shard)
    if (isNewShard) await syncFolder(this.#folder)
  }

  /** Reserves disk space for a file while it is received. Throws if the file does not fit, before the disk is full. */
  async #roomFor(sizeBytes: number): Promise<Disposable & { take: (bytes: number) => void }> {
    const disk = await statfs(this.#incoming)
    if (sizeBytes > disk.bavail * disk.bsize - reservedBytes(disk) - this.#comingBytes) throw diskFull()
    let leftBytes = sizeBytes
    this.#comingBytes += sizeBytes
    const take = (bytes: number): void => {
      leftBytes -= bytes
      this.#comingBytes -= bytes
    }
    return { take, [Symbol.dispose]: () => take(leftBytes) }
  }
}

/** Hashes a file while the disk writes it. Chunks that arrive during a write are combined into the next write. */
class HashingFile extends Writable {
  readonly #file: FileHandle
  readonly #digester: Digester
  readonly #sync: SteadySync
  readonly #onWritten: (bytes: number) => void

  constructor(file: FileHandle, digester: Digester, sync: SteadySync, onWritten: (bytes: number) => void) {
    super({ highWaterMark: BUFFER_BYTES })
    this.#file = file
    this.#digester = digester
    this.#sync = sync
    this.#onWritten = onWritten
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#take([chunk], done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  #take(chunks: Buffer[], done: (error?: Error | null) => void): void {
    this.#write(chunks).then(() => done(), done)
    // The write runs in libuv's thread pool, so hashing here takes place at the same time.
    for (const chunk of chunks) this.#digester.update(chunk)
  }

  /** Writes through the `FileHandle`, because its `close` waits for pending writes. */
  async #write(chunks: Buffer[]): Promise<void> {
    const size = chunks.reduce((sum, { length }) => sum + length, 0)
    const { bytesWritten } = await this.#file.writev(chunks)
    // A nearly full disk may accept only a part of the bytes. Writing the rest then throws the error, such as ENOSPC.
    if (bytesWritten < size)
      for (let rest = Buffer.concat(chunks).subarray(bytesWritten); rest.length > 0; )
        rest = rest.subarray((await this.#file.write(rest)).bytesWritten)
    this.#onWritten(size)
    await this.#sync.wrote(size)
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(unlessAbsent)) ?? []
}

async function* olderFiles(
  kind: Leftover['kind'],
  folder: string,
  ageMs: number,
  time: 'mtimeMs' | 'ctimeMs',
  names?: string[],
): AsyncGenerator<Leftover> {
  for (const name of names ?? (await namesIn(folder))) {
    const path = join(folder, name)
    const found = await stat(path).catch(unlessAbsent)
    if (found && Date.now() - found[time] >= ageMs) yield { kind, path, sizeBytes: found.size }
  }
}

function unlessAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

function isFull(error: unknown): boolean {
  return /^(ENOSPC|EDQUOT|EFBIG)$/.test((error as NodeJS.ErrnoException)?.code ?? '')
}

function diskFull(cause?: unknown): ActionError {
  return new ActionError('Internal', 'The disk of the hub is full: the file does not fit.', {
    status: 507,
    cause,
  })
}
