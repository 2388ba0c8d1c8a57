import { createHash } from 'node:crypto'
import { z } from 'zod'
import { BackupError } from './backup-error.ts'

/** Limit of the JSON around a part, in bytes. A table of 1,000 columns needs a tenth of it. */
const MAX_JSON_BYTES = 1024 * 1024
/** Limit of a piece of a part, in bytes. */
const MAX_PIECE_BYTES = 64 * 1024 * 1024

const Columns = z.array(z.string().min(1).max(63)).min(1)
/** Table of the hub, or a partition of one. The body are its rows in the text format of `COPY`. */
const TablePart = z.object({
  kind: z.literal('table'),
  name: z.string().min(1).max(63),
  columns: Columns,
  partition: z
    .object({
      of: z.string().min(1).max(63),
      /** Days, as `pg_get_expr` prints them. Other texts are refused, because they become part of a statement. */
      bounds: z.string().regex(/^FOR VALUES FROM \('[-+:\d ]+'\) TO \('[-+:\d ]+'\)$/),
    })
    .optional(),
})
/** Jobs of pg-boss, whose tables differ between its versions. */
const JobsPart = z.object({ kind: z.literal('jobs'), columns: Columns })
/** File of a repository. Its id becomes a file name, so it has only letters, digits and underscores. */
const BlobPart = z.object({ kind: z.literal('blob'), assetId: z.string().regex(/^\w{1,64}$/) })
const KeyPart = z.object({ kind: z.literal('instance-key') })
const PartHeader = z.discriminatedUnion('kind', [TablePart, JobsPart, BlobPart, KeyPart])
const PartFooter = z.object({ sha256: z.string(), rows: z.number().optional() })

/** Description of a part of a backup. */
export type PartHeader = z.infer<typeof PartHeader>
/** Description of a part with rows. */
export type RowsHeader = Extract<PartHeader, { columns: string[] }>

/** A part of a backup. `body` must be read before the next part. */
export type Part = {
  header: PartHeader
  body: AsyncIterable<Buffer>
  /** Number of rows; undefined for parts without rows. Known when the body was read. */
  rows: () => number | undefined
}

/** The same items, until the signal aborts. Then throws its reason. */
export async function* abortable<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  for await (const item of items) {
    signal.throwIfAborted()
    yield item
  }
}

/** Turns parts into bytes: for each part its header, the pieces of its body with their lengths, and a footer with its checksum. */
export async function* encodeParts(parts: AsyncIterable<Part>): AsyncGenerator<Buffer> {
  for await (const { header, body, rows } of parts) {
    yield json(header)
    const hash = createHash('sha256')
    for await (const piece of body) {
      if (piece.length === 0) continue
      hash.update(piece)
      yield Buffer.concat([lengthOf(piece), piece])
    }
    yield Buffer.alloc(4)
    yield json({ sha256: hash.digest('hex'), rows: rows() })
  }
}

function json(value: object): Buffer {
  const text = Buffer.from(JSON.stringify(value))
  return Buffer.concat([lengthOf(text), text])
}

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return length
}

/** Reads the parts that `encodeParts` wrote. Throws `BackupError` if a part differs from its checksum or has an invalid header. */
export async function* decodeParts(bytes: AsyncIterable<Buffer>): AsyncGenerator<Part> {
  const reader = new ByteReader(bytes)
  for (;;) {
    const header = await reader.json(PartHeader)
    if (header === undefined) return
    let isRead = false
    let rows: number | undefined
    const body = (async function* () {
      const hash = createHash('sha256')
      for (;;) {
        const length = await reader.length(MAX_PIECE_BYTES)
        if (length === 0) break
        for await (const piece of reader.pieces(length)) {
          hash.update(piece)
          yield piece
        }
      }
      const footer = await reader.json(PartFooter)
      if (footer?.sha256 !== hash.digest('hex'))
        throw new BackupError(`The backup is damaged: the checksum of ${nameOf(header)} is another one.`)
      rows = footer.rows
      isRead = true
    })()
    yield { header, body, rows: () => rows }
    if (!isRead) for await (const _ of body);
  }
}

/** Name of a part for messages. */
export function nameOf(header: PartHeader): string {
  if (header.kind === 'table') return `the table ${header.name}`
  if (header.kind === 'blob') return `the file ${header.assetId}`
  return header.kind === 'jobs' ? 'the jobs' : 'the instance key'
}

/** Reads lengths, JSON and bodies from a stream of buffers. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Resolves to undefined at the end of the stream. */
  async json<Value>(shape: z.ZodType<Value>): Promise<Value | undefined> {
    if (!(await this.#fill())) return undefined
    const bytes = await this.#bytes(await this.length(MAX_JSON_BYTES))
    let value: unknown
    try {
      value = JSON.parse(bytes.toString('utf8'))
    } catch (cause) {
      throw new BackupError('The backup is damaged: the description of a part cannot be read.', { cause })
    }
    const found = shape.safeParse(value)
    if (found.success) return found.data
    throw new BackupError(
      `The backup has an invalid part: ${JSON.stringify(value).slice(0, 200)}. It was not made by a hub of this release or an older one.`,
    )
  }

  async length(limit: number): Promise<number> {
    const length = (await this.#bytes(4)).readUInt32BE()
    if (length > limit) throw new BackupError('The backup is damaged: a part of it is too long.')
    return length
  }

  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (!(await this.#fill())) throw cutError()
      const piece = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }

  async #bytes(length: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for await (const piece of this.pieces(length)) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  /** Reads on if no bytes wait. Resolves to false at the end of the stream. */
  async #fill(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const next = await this.#source.next()
      if (next.done) return false
      this.#rest = next.value
    }
    return true
  }
}

function cutError(): BackupError {
  return new BackupError('The backup is damaged: it ends within a part.')
}
