import { closeSync, fstatSync, open, read } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { ActionError } from '@muster/actions'
import { attachment } from './attachment.ts'

type SentFile = {
  path: string
  /** In hex; the file's entity tag, since it says what the bytes are. */
  sha256: string
  filename: string
  /** Whether caches that are not the reader's own may keep it. */
  isPublic: boolean
  /**
   * Until when a cache that the operator puts in front answers in the hub's place, in seconds since 1970: nginx obeys this, keeps it
   * to itself, and everybody else goes by `Cache-Control`.
   */
  cachedUntil?: number
  requestId: string
}

// Descriptors and not handles, whose promises cost a small file as much as the rest.
const openFile = promisify(open)

/** Bytes that are read at once, and that wait in memory for a slow reader at most. */
const CHUNK_BYTES = 128 * 1024
/** A client that takes nothing for so long is let go, in milliseconds; it can come back for the rest. */
const STALL_MS = 60_000

/**
 * Answers a GET or HEAD with a file to save: whole or one range of it, with its digest, never as a page (decisions, "Storage").
 * Reads only as fast as the client does. Throws `ActionError` before anything is sent, for a file that is not there.
 */
export async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { path, sha256, filename, isPublic, cachedUntil, requestId }: SentFile,
): Promise<void> {
  const file = await openFile(path, 'r').catch(error => {
    if (error.code !== 'ENOENT') throw error
    throw new ActionError('Invalid', 'This file is not there any more.', { status: 404, cause: error })
  })
  try {
    // Of an open file this waits for no disk.
    const { size } = fstatSync(file)
    const etag = `"${sha256}"`
    const { headers, method } = request
    const general = {
      'accept-ranges': 'bytes',
      // Which file a name means may change, a right may end: whoever keeps it asks whether it is still the one.
      'cache-control': `${isPublic ? 'public' : 'private'}, no-cache`,
      'content-security-policy': "sandbox; default-src 'none'",
      etag,
      'x-content-sha256': sha256,
      'x-request-id': requestId,
    }
    if (lists(headers['if-none-match'], etag)) {
      response.writeHead(304, general).end()
      return
    }
    const range =
      headers['if-range'] === undefined || headers['if-range'] === etag ? headers.range : undefined
    const part = partOf(range, size)
    if (part === 'unsatisfiable') {
      response.writeHead(416, { ...general, 'content-range': `bytes */${size}`, 'content-length': 0 }).end()
      return
    }
    const { from, length } = part ?? { from: 0, length: size }
    response.writeHead(part ? 206 : 200, {
      // Before `Cache-Control`: older versions of nginx go by the first of them.
      ...(cachedUntil !== undefined && { 'x-accel-expires': `@${cachedUntil}` }),
      ...general,
      'content-type': 'application/octet-stream',
      'content-disposition': attachment(filename),
      'content-length': length,
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
      ...(part && { 'content-range': `bytes ${from}-${from + length - 1}/${size}` }),
    })
    if (method === 'HEAD' || length === 0) response.end()
    else await sendPart(file, response, from, length)
  } finally {
    // What was only read has nothing to wait for.
    closeSync(file)
  }
}

/** Buffers that nobody uses: made anew for each download they would keep the garbage collector busy. */
const spareBuffers: Buffer[] = []
const MAX_SPARE_BUFFERS = 64

/** Reads the next piece while the one before is on its way. Ends early when the client goes away. */
async function sendPart(file: number, response: ServerResponse, from: number, length: number): Promise<void> {
  const end = from + length
  const buffers: Buffer[] = []
  const readPiece = (turn: number, at: number): Promise<Buffer> => {
    // A buffer is read into again once its bytes have left.
    buffers[turn % 2] ??= spareBuffers.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)
    const buffer = buffers[turn % 2]!
    return new Promise((done, failed) =>
      read(file, buffer, 0, Math.min(CHUNK_BYTES, end - at), at, (error, bytesRead) =>
        error ? failed(error) : done(buffer.subarray(0, bytesRead)),
      ),
    )
  }
  // All bytes have left; of a connection that broke nobody knows.
  response.once('finish', () => {
    for (const buffer of buffers) if (spareBuffers.length < MAX_SPARE_BUFFERS) spareBuffers.push(buffer)
  })
  let proceed: () => void = () => {}
  if (length > CHUNK_BYTES) {
    response.once('close', () => proceed())
    response.setTimeout(STALL_MS, () => response.destroy())
  }
  let chunk = await readPiece(0, from)
  for (let turn = 1, at = from; !response.destroyed; turn++) {
    at += chunk.length
    if (at === end) return void response.end(chunk)
    // The file became shorter: the connection ends before the announced length, which the client notices.
    if (chunk.length === 0) return void response.destroy()
    const sent = new Promise<void>(done => {
      proceed = done
      response.write(chunk, () => done())
    })
    const [next] = await Promise.all([readPiece(turn, at), sent])
    chunk = next
  }
}

/** What a range asks for; nothing for the whole, which is also the answer to several ranges and to what is none (RFC 9110). */
function partOf(
  range: string | undefined,
  size: number,
): { from: number; length: number } | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { from: size - length, length }
  }
  const from = Number(first)
  const to = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < from) return undefined
  return from >= size ? 'unsatisfiable' : { from, length: to - from + 1 }
}

/** Whether `If-None-Match` names an entity tag. */
function lists(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
}
