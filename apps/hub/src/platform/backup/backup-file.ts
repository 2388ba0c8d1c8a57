import { createHash } from 'node:crypto'
import { constants, type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { z } from 'zod'
import { SteadySync } from '../runtime/steady-sync.ts'
import { BackupError } from './backup-error.ts'
import { type ChunkCipher, Encryption, newEncryption, openEncryption, TAG_BYTES } from './encryption.ts'

/**
 * A backup is one file:
 *
 *     muster-backup 1                 version of the format
 *     {"createdAt": …}                header, one line of JSON
 *     length chunk length chunk …     4 bytes, then as many bytes; the highest bit marks the last chunk
 *     checksum                        SHA-256 of all bytes before, 32 bytes
 *
 * The chunks together are compressed with zstd; `parts.ts` has what is in them. With a passphrase each chunk is encrypted.
 */
const MAGIC = 'muster-backup'
const FORMAT = 1
const CHUNK_BYTES = 1024 * 1024
const MAX_HEADER_BYTES = 256 * 1024
const CHECKSUM_BYTES = 32
const LAST = 0x8000_0000

/** Shape of the header, which is readable without a passphrase. */
const Header = z.object({
  createdAt: z.iso.datetime(),
  /** Release of the hub that made the backup. */
  release: z.string(),
  /** Migrations of the database in their order. */
  migrations: z.array(z.string().regex(/^\d{4}_\w+\.sql$/)),
  /** Whether the backup was restored on trial before it got its name. */
  isVerified: z.boolean(),
  hasBlobs: z.boolean(),
  hasKey: z.boolean(),
  /** Value derived from the instance key, which does not reveal it; null if the instance has none stored. */
  keyMark: z.string().nullable(),
  /** Size of the database in bytes, for the check of free space before a restore. */
  databaseBytes: z.number(),
  encryption: Encryption.nullable(),
})
/** Header of a backup. */
export type BackupHeader = z.infer<typeof Header>

/** A backup without its checksum. `sizeBytes` is the size of the complete file. */
export type Draft = { path: string; checksum: Buffer; sizeBytes: number }

/**
 * Writes a backup without its checksum, mode 0600, and waits until the disk has it. The file must not exist. Memory stays bounded, because
 * the source is read as fast as the disk writes. A restore refuses the draft until `completeBackupFile` has added the checksum, because its
 * header already says that it was restored on trial.
 */
export async function writeBackupFile(
  path: string,
  header: Omit<BackupHeader, 'encryption'>,
  content: AsyncIterable<Buffer>,
  passphrase?: string,
): Promise<Draft> {
  const encrypted = passphrase === undefined ? undefined : await newEncryption(passphrase)
  const head = headOf({ ...header, encryption: encrypted?.encryption ?? null })
  const cipher = encrypted?.withHeader(head)
  const file = await open(path, 'wx', 0o600)
  try {
    const hash = createHash('sha256')
    const sync = new SteadySync(file)
    let sizeBytes = 0
    const write = async (bytes: Buffer): Promise<void> => {
      hash.update(bytes)
      sizeBytes += bytes.length
      await file.writeFile(bytes)
      await sync.wrote(bytes.length)
    }
    await write(head)
    await pipeline(Readable.from(content), createZstdCompress(), async compressed => {
      for await (const chunk of sealedChunks(compressed, cipher)) await write(chunk)
    })
    await sync.end()
    return { path, checksum: hash.digest(), sizeBytes: sizeBytes + CHECKSUM_BYTES }
  } finally {
    await file.close()
  }
}

/** Appends the checksum to a draft, and waits until the disk has it. Throws if the draft was deleted. */
export async function completeBackupFile({ path, checksum }: Draft): Promise<void> {
  // `appendFile` would create a file with only the checksum.
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND)
  try {
    await file.writeFile(checksum)
    await file.sync()
  } finally {
    await file.close()
  }
}

function headOf(header: BackupHeader): Buffer {
  return Buffer.from(`${MAGIC} ${FORMAT}\n${JSON.stringify(header)}\n`)
}

/** Cuts bytes into chunks of the file with their lengths. A chunk is kept until more bytes follow, so that the last one can be marked. */
async function* sealedChunks(
  bytes: AsyncIterable<Buffer>,
  cipher: ChunkCipher | undefined,
): AsyncGenerator<Buffer> {
  let index = 0
  const seal = (chunk: Buffer, isLast: boolean): Buffer => {
    const sealed = cipher ? cipher.encrypt(chunk, index, isLast) : chunk
    index++
    const length = Buffer.alloc(4)
    length.writeUInt32BE(isLast ? (sealed.length | LAST) >>> 0 : sealed.length)
    return Buffer.concat([length, sealed])
  }
  let waiting: Buffer[] = []
  let waitingBytes = 0
  for await (const piece of bytes) {
    if (waitingBytes > 0 && waitingBytes + piece.length > CHUNK_BYTES) {
      yield seal(Buffer.concat(waiting), false)
      waiting = []
      waitingBytes = 0
    }
    waiting.push(piece)
    waitingBytes += piece.length
  }
  yield seal(Buffer.concat(waiting), true)
}

/** An existing backup. */
export class BackupFile implements AsyncDisposable {
  readonly path: string
  readonly header: BackupHeader
  readonly #file: FileHandle
  readonly #head: Buffer
  readonly #checksum: Buffer | undefined
  #cipher: ChunkCipher | undefined

  private constructor(
    path: string,
    file: FileHandle,
    header: BackupHeader,
    head: Buffer,
    checksum: Buffer | undefined,
  ) {
    this.path = path
    this.#file = file
    this.header = header
    this.#head = head
    this.#checksum = checksum
  }

  /**
   * Opens a backup and reads its header. `checksum` is that of a draft. Throws `BackupError` if the file is no backup, or one of a newer
   * format.
   */
  static async open(path: string, checksum?: Buffer): Promise<BackupFile> {
    const file = await open(path)
    try {
      const start = Buffer.alloc(MAX_HEADER_BYTES)
      const { bytesRead } = await file.read(start, 0, start.length, 0)
      const lines = start.subarray(0, bytesRead).toString('latin1')
      const [, version] = new RegExp(`^${MAGIC} (\\d{1,9})\\n`).exec(lines) ?? []
      if (version === undefined) throw new BackupError(`${path} is no backup of a hub.`)
      if (Number(version) > FORMAT)
        throw new BackupError(
          `${path} has the format ${version}, and this hub reads up to ${FORMAT}: restore it with the release that made it, or a newer one.`,
        )
      const headBytes = lines.indexOf('\n', lines.indexOf('\n') + 1) + 1
      const head = start.subarray(0, headBytes)
      const header = Header.safeParse(jsonOf(head.subarray(head.indexOf('\n') + 1)))
      if (headBytes === 0 || !header.success)
        throw new BackupError(`${path} is damaged: its header cannot be read.`)
      return new BackupFile(path, file, header.data, Buffer.from(head), checksum)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Decrypts the content of an encrypted backup from now on. Throws `BackupError` for a wrong passphrase. */
  async unlock(passphrase: string): Promise<void> {
    const { encryption } = this.header
    if (encryption !== null) this.#cipher = await openEncryption(encryption, passphrase, this.#head)
  }

  /** Reads the whole file. Throws `BackupError` if it was cut or if a byte of it was changed. */
  async check(): Promise<void> {
    for await (const _ of this.#chunks(undefined));
  }

  /**
   * Reads the content, and checks it as `check` does, at the latest when all bytes were read. An encrypted backup must be unlocked before.
   * Throws `BackupError`.
   */
  async *content(): AsyncGenerator<Buffer> {
    const decompress = createZstdDecompress()
    const reading = pipeline(this.#chunks(this.#cipher), decompress).catch(() => {})
    try {
      yield* decompress as AsyncIterable<Buffer>
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code?.startsWith('ZSTD_') ? this.#damaged(error) : error
    } finally {
      decompress.destroy()
      await reading
    }
  }

  async *#chunks(cipher: ChunkCipher | undefined): AsyncGenerator<Buffer> {
    const hash = createHash('sha256').update(this.#head)
    let position = this.#head.length
    const read = async (length: number): Promise<Buffer> => {
      const bytes = Buffer.alloc(length)
      for (let filled = 0; filled < length; ) {
        const { bytesRead } = await this.#file.read(bytes, filled, length - filled, position)
        if (bytesRead === 0) throw this.#damaged()
        filled += bytesRead
        position += bytesRead
      }
      return bytes
    }
    for (let index = 0, isLast = false; !isLast; index++) {
      const prefix = await read(4)
      const value = prefix.readUInt32BE()
      isLast = value >= LAST
      const length = isLast ? value - LAST : value
      if (length > 2 * CHUNK_BYTES + TAG_BYTES) throw this.#damaged()
      const chunk = await read(length)
      hash.update(prefix).update(chunk)
      yield cipher ? cipher.decrypt(chunk, index, isLast) : chunk
    }
    const expected = hash.digest()
    const found = this.#checksum ?? (await read(CHECKSUM_BYTES))
    const { size } = await this.#file.stat()
    if (!found.equals(expected) || position !== size) throw this.#damaged()
  }

  #damaged(cause?: unknown): BackupError {
    return new BackupError(
      `${this.path} is damaged: it was cut, or bytes of it were changed. Take another backup.`,
      { cause },
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
  }
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
