import { VERSION } from '@muster/actions/version'
import { AddressRefused, type GuardedHttpClient } from '../../platform/storage/guarded-http-client.ts'
import { type Prepared, prepare, prepareLogs, type Sent, type Target } from './formats.ts'
import type { ResourceLogs } from './otlp.ts'
import { signedHeaders } from './signature.ts'

/** Time in milliseconds in which a receiver must answer, from the look-up of its host. */
const DEADLINE_MS = 15_000
/** Time in milliseconds for the beginning of the body of an answer, which only the log needs. */
const BODY_MS = 1_000
/** Bytes of an answer that the log keeps. */
const KEPT_BYTES = 256
/** Longest `Retry-After` that counts, in seconds: an hour. */
const MAX_RETRY_AFTER_SECS = 3_600

/** Result of an attempt. */
export type Outcome = {
  isSuccess: boolean
  status?: number
  error?: string
  answer?: string
  tookMs: number
  retryAfterSecs?: number
}

/** Sends messages to receivers through the guarded clients. */
export class Sender {
  readonly #http: GuardedHttpClient
  readonly #otlp: GuardedHttpClient
  readonly #publicUrl: string

  /** `otlp` sends what is of the format `otlp`, whose receivers may be in other networks. */
  constructor(http: GuardedHttpClient, publicUrl: string, otlp = http) {
    this.#http = http
    this.#otlp = otlp
    this.#publicUrl = publicUrl
  }

  /** Throws `AddressRefused` for an address that the hub must not connect to. */
  check({ url, format }: Pick<Target, 'url' | 'format'>): Promise<void> {
    return this.#client(format).check(new URL(url), AbortSignal.timeout(DEADLINE_MS))
  }

  #client(format: Target['format']): GuardedHttpClient {
    return format === 'otlp' ? this.#otlp : this.#http
  }

  /**
   * Sends a message once. A success is an answer with 2xx within 15 s; a redirect is none. Never rejects, unless `signal` aborts: then it is
   * not known whether the receiver has the message.
   */
  send(
    target: Target,
    secrets: readonly string[],
    message: Sent,
    signal: AbortSignal,
    deadlineMs = DEADLINE_MS,
  ): Promise<Outcome> {
    const make = (): Prepared => {
      const made = prepare(target, message, this.#publicUrl)
      if (!made.isSigned) return made
      const signed = signedHeaders(secrets, message.messageId, new Date(), made.body)
      return { ...made, headers: { ...made.headers, ...signed } }
    }
    return this.#request(target, make, signal, deadlineMs)
  }

  /** Sends log records to a collector, as `send` sends a message. */
  sendLogs(target: Target, logs: readonly ResourceLogs[], signal: AbortSignal): Promise<Outcome> {
    return this.#request(target, () => prepareLogs(target, logs), signal, DEADLINE_MS)
  }

  async #request(
    { format }: Target,
    make: () => Prepared,
    signal: AbortSignal,
    deadlineMs: number,
  ): Promise<Outcome> {
    const startedAtMs = performance.now()
    const tookMs = (): number => Math.round(performance.now() - startedAtMs)
    const deadline = AbortSignal.timeout(deadlineMs)
    try {
      const { method, url, headers, body } = make()
      const bytes = Buffer.from(body)
      const response = await this.#client(format).request(url, {
        method,
        headers: {
          ...headers,
          'user-agent': `Muster/${VERSION}`,
          'content-length': String(bytes.length),
        },
        signal: AbortSignal.any([signal, deadline]),
        expectsContinue: false,
        send: write => write(bytes),
      })
      const status = response.statusCode!
      const took = tookMs()
      const answer = await beginning(response)
      const retryAfterSecs = secsOf(response.headers['retry-after'])
      return {
        isSuccess: status >= 200 && status < 300,
        status,
        answer,
        tookMs: took,
        ...(retryAfterSecs !== undefined && { retryAfterSecs }),
      }
    } catch (error) {
      signal.throwIfAborted()
      const text = deadline.aborted ? `No answer within ${deadlineMs / 1000} s.` : reasonOf(error)
      return { isSuccess: false, error: text, tookMs: tookMs() }
    }
  }
}

/** Reads the beginning of an answer, and closes the connection: a receiver may send without end, or a byte a minute. */
async function beginning(response: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => response.destroy(), BODY_MS)
  try {
    for await (const chunk of response) {
      chunks.push(chunk.subarray(0, KEPT_BYTES - size))
      size += chunk.length
      if (size >= KEPT_BYTES) break
    }
  } catch {
    // The connection broke, or took too long. What has arrived is kept.
  } finally {
    clearTimeout(timer)
    response.destroy()
  }
  // PostgreSQL stores no NUL character.
  return Buffer.concat(chunks).toString().replaceAll('\0', '\ufffd')
}

/** Why a request failed, for the log of a webhook. It names no address, which could be one of the operator's network. */
function reasonOf(error: unknown): string {
  if (error instanceof AddressRefused) return error.message
  const { code, message = String(error) } = error as NodeJS.ErrnoException
  if (code === undefined) return message.slice(0, 200)
  const words: Record<string, string> = {
    ECONNREFUSED: 'refused the connection',
    ECONNRESET: 'closed the connection',
    ENOTFOUND: 'has no address',
    EAI_AGAIN: 'could not be looked up',
    ETIMEDOUT: 'did not answer',
    EPIPE: 'closed the connection',
  }
  if (words[code]) return `The receiver ${words[code]} (${code}).`
  return `The request failed (${code}).`
}

/** Seconds of a `Retry-After` header, which is a number or a date. */
function secsOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const secs = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(secs) && secs > 0 ? Math.min(secs, MAX_RETRY_AFTER_SECS) : undefined
}
