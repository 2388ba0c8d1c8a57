import { closeSync, fstatSync, open, read } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { ActionError } from '@muster/actions'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { attachment } from '../net/attachment.ts'

type SentFile = {
  path: string
  /** SHA-256 of the file in hex, also its ETag. */
  sha256: string
  filename: string
  /** Whether shared caches may store the file. */
  isPublic: boolean
  /**
   * Time until which the operator's cache in front of the hub may answer without revalidation, in seconds since 1970. It is sent as
   * `X-Accel-Expires`, which nginx obeys and removes; all other caches follow `Cache-Control`.
   */
  cachedUntil?: number
  requestId: string
}

// Uses plain file descriptors, because the promises of a `FileHandle` cost as much as sending a small file.
const openFile = promisify(open)

/** Number of bytes per read. Each download has two buffers of this size. */
const CHUNK_BYTES = 128 * 1024
/** Number of bytes per read while more than `MANY_DOWNLOADS` run, so that thousands of slow downloads hold little memory. */
const SMALL_CHUNK_BYTES = 16 * 1024
const MANY_DOWNLOADS = 256
/** Time without progress after which a client is disconnected, in milliseconds. The client can resume with a range request. */
const STALL_MS = 60_000

/**
 * Answers GET or HEAD with a file as a download, whole or one range, with its digest (docs/decisions.md, "Storage, cluster, operations").
 * Reads only as fast as the client does. Throws `ActionError` before anything is sent if the file does not exist.
 */
async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { path, sha256, filename, isPublic, cachedUntil, requestId }: SentFile,
): Promise<void> {
  const file = await openFile(path, 'r').catch(error => {
    if (error.code !== 'ENOENT') throw error
    throw new ActionError('Invalid', 'This file is not there any more.', { status: 404, cause: error })
  })
  try {
    // `fstat` on an open file reads cached metadata, so the synchronous call does not block.
    const { size } = fstatSync(file)
    const etag = `"${sha256}"`
    const { headers, method } = request
    const general = {
      'accept-ranges': 'bytes',
      // `no-cache` makes caches revalidate, because the URL may get another file, and the reader may lose the right to read the
      // file.
      'cache-control': `${isPublic ? 'public' : 'private'}, no-cache`,
      'content-security-policy': "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
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
      // Must precede `Cache-Control`: older versions of nginx obey the first of the two headers.
      ...(cachedUntil !== undefined && { 'x-accel-expires': `@${cachedUntil}` }),
      ...general,
      'content-type': 'application/octet-stream',
      'content-disposition': attachment(filename),
      'content-length': length,
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
      ...(part && { 'content-range': `bytes ${from}-${from + length - 1}/${size}` }),
    })
    if (method === 'HEAD' || length === 0) response.end()
    else {
      sending++
      await sendPart(file, response, from, length).finally(() => sending--)
    }
  } finally {
    // The file was only read, so closing it does not wait for the disk.
    closeSync(file)
  }
}

/** Answers a request with a file by `sendFile`. */
export async function replyWithFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: Omit<SentFile, 'requestId'>,
): Promise<FastifyReply> {
  try {
    await sendFile(request.raw, reply.raw, { ...file, requestId: request.id })
  } catch (error) {
    if (!reply.raw.headersSent) throw error
    // The response has begun, so only closing the connection early can show the client that it failed.
    reply.raw.destroy()
  }
  return reply.hijack()
}

/** Buffers for reuse by later downloads. Allocating new buffers for each download would keep the garbage collector busy. */
const spareBuffers: Buffer[] = []
const MAX_SPARE_BUFFERS = 64

/** Number of files that are being sent. */
let sending = 0

/** Sends part of a file, reading the next piece while the previous one is being sent. Stops when the client disconnects. */
async function sendPart(file: number, response: ServerResponse, from: number, length: number): Promise<void> {
  const end = from + length
  const chunkBytes = sending < MANY_DOWNLOADS ? CHUNK_BYTES : SMALL_CHUNK_BYTES
  const buffers: Buffer[] = []
  const readPiece = (turn: number, at: number): Promise<Buffer> => {
    // A buffer is refilled only after its bytes have been sent.
    buffers[turn % 2] ??=
      (chunkBytes === CHUNK_BYTES ? spareBuffers.pop() : undefined) ?? Buffer.allocUnsafeSlow(chunkBytes)
    const buffer = buffers[turn % 2]!
    return new Promise((done, failed) =>
      read(file, buffer, 0, Math.min(chunkBytes, end - at), at, (error, bytesRead) =>
        error ? failed(error) : done(buffer.subarray(0, bytesRead)),
      ),
    )
  }
  // `finish` means that all bytes were handed to the operating system. It does not fire for a broken connection, whose buffers may still be
  // in use.
  response.once('finish', () => {
    if (chunkBytes !== CHUNK_BYTES) return
    for (const buffer of buffers) if (spareBuffers.length < MAX_SPARE_BUFFERS) spareBuffers.push(buffer)
  })
  let proceed: () => void = () => {}
  if (length > chunkBytes) {
    response.once('close', () => proceed())
    response.setTimeout(STALL_MS, () => response.destroy())
  }
  let chunk = await readPiece(0, from)
  for (let turn = 1, at = from; !response.destroyed; turn++) {
    at += chunk.length
    if (at === end) return void response.end(chunk)
    // The file was truncated while it was sent. Closing the connection before the announced length shows the client that the
    // body is incomplete.
    if (chunk.length === 0) return void response.destroy()
    const sent = new Promise<void>(done => {
      proceed = done
      response.write(chunk, () => done())
    })
    const [next] = await Promise.all([readPiece(turn, at), sent])
    chunk = next
  }
}

/**
 * Parses a `Range` header. Undefined means the whole file, also for a malformed header or one with several ranges (RFC 9110, 14.2).
 */
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

/** Whether `If-None-Match` lists an entity tag. */
function lists(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
}
