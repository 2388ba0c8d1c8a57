import type { IncomingMessage } from 'node:http'
import { describeError } from './describe-error.ts'

const MAX_BODY_BYTES = 16 * 1024
const BODY_TIMEOUT_MS = 5000

/** The hub answered the connection request with a status other than 101 (docs/protocol.md 1.6). */
export class HubRefusedError extends Error {
  override readonly name = 'HubRefusedError'
  readonly status: number
  /** Reason given by the hub; empty if it gave none. */
  readonly reason: string
  readonly retryAfterMs: number | undefined
  /** Name of the proxy through which the answer came; empty without a proxy. */
  readonly via: string

  constructor(
    status: number,
    reason: string,
    { retryAfterMs, via }: { retryAfterMs?: number; via?: string } = {},
  ) {
    const through = via === undefined ? '' : ` through ${via}`
    super(`the hub refused the connection${through} with ${status}${reason === '' ? '' : `: ${reason}`}`)
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
    this.via = through
  }
}

/**
 * Reads a refusal from the hub's HTTP response: status, `Retry-After` and the message of a JSON body `{kind, message}`. `via` names the proxy
 * through which it came.
 */
export async function readRefusal(response: IncomingMessage, via?: string): Promise<HubRefusedError> {
  const body = await readBody(response)
  const retryAfterMs = retryAfterMsOf(response.headers['retry-after'], Date.now())
  return new HubRefusedError(response.statusCode ?? 0, reasonOf(body), {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(via !== undefined && { via }),
  })
}

/** Describes a failed connection in one line for the log, with advice for the operator. */
export function adviceOn(error: unknown): string {
  if (!(error instanceof HubRefusedError)) return describeError(error)
  const said = `${error.status}${error.reason === '' ? '' : ` "${error.reason}"`}${error.via}`
  if (error.status === 403 && /pending/i.test(error.reason)) {
    return `certificate is pending: accept it in the console (the hub says ${said})`
  }
  if (error.status === 403)
    return `this device is not allowed in: look at its certificates in the console (the hub says ${said})`
  if (error.status === 401)
    return `the token is not accepted: create one in the console (the hub says ${said})`
  if (error.status === 404 || error.status === 426)
    return `no hub at this address: check it (the answer was ${said})`
  return error.message
}

/**
 * Parses `Retry-After`, which is a number of seconds or an HTTP date (RFC 9110, 10.2.3), to milliseconds. Returns undefined for
 * a missing header, an invalid value or a past date.
 */
export function retryAfterMsOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isFinite(delayMs) && delayMs > 0 ? delayMs : undefined
}

function reasonOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    if (typeof message === 'string') return message.slice(0, 500)
  } catch {
    // The body is not the hub's JSON. A proxy may have sent it.
  }
  return body.trimStart().startsWith('<') ? '' : body.trim().slice(0, 200)
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  const timer = setTimeout(() => response.destroy(), BODY_TIMEOUT_MS)
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length > MAX_BODY_BYTES) break
    }
  } catch {
    // The connection broke or the timeout expired. The bytes that have arrived are used.
  } finally {
    clearTimeout(timer)
    response.destroy()
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_BODY_BYTES)
}
