import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { ActionError } from '@muster/actions'
import { AwsV4Signer } from 'aws4fetch'
import { Digester, type Expected, sha256Of, WrongBytes } from './digest.ts'
import type { BlobDriver, Staged } from './driver.ts'
import { AddressRefused, type GuardedHttpClient } from './guarded-http-client.ts'
import type { S3Settings } from './s3-settings.ts'
import { chunksOf } from './upload-stream.ts'

/** Largest object that a single PUT may create in S3: 5 GiB, in bytes. */
export const MAX_S3_OBJECT_BYTES = 5 * 1024 ** 3

const DEFAULT_REGION = 'us-east-1'
/** Deadline of a small request including its retries: 20 s, in milliseconds. */
const SMALL_REQUEST_MS = 20_000
/** Maximum number of attempts while a store is busy or unreachable. */
const MAX_TRIES = 4
/** Pause before the second attempt, in milliseconds. It doubles before each further attempt. */
const FIRST_PAUSE_MS = 200
/** Maximum number of bytes that are read from a small response, such as an error. */
const MAX_ERROR_BYTES = 64 * 1024
/** Value in place of the body's hash when a signature does not cover the body (SigV4). */
export const UNSIGNED = 'UNSIGNED-PAYLOAD'

type FailureOptions = { mayRecover?: boolean; cause?: unknown; status?: number; code?: string | undefined }

/** Thrown when an object store fails. The message completes "The object storage failed: …". */
export class S3Failure extends Error {
  override readonly name = 'S3Failure'
  /** Whether a retry may succeed. */
  readonly mayRecover: boolean
  /** Status and error code of the store's answer, if it answered. */
  readonly status: number | undefined
  readonly code: string | undefined

  constructor(message: string, { mayRecover = false, cause, status, code }: FailureOptions = {}) {
    super(message, { cause })
    this.mayRecover = mayRecover
    this.status = status
    this.code = code
  }

  /** Converts the failure into an error for the caller of the hub. */
  asActionError(): ActionError {
    return new ActionError('Internal', `The object storage failed: ${this.message}`, {
      status: 502,
      cause: this,
    })
  }
}

type Call = {
  method: 'GET' | 'PUT' | 'HEAD' | 'DELETE'
  key: string
  headers?: Record<string, string>
  /** SHA-256 of the body in hex, if known. */
  sha256?: string | undefined
  signal: AbortSignal
  send?: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>
}

/** Codes of errors that a store answers only to keys that it knows. */
const SIGNED_IN: readonly string[] = ['NoSuchKey', 'NoSuchBucket', 'AccessDenied']

/** A bucket of an S3-compatible object store. Objects are named by their full key, including the prefix. */
export class S3Bucket implements BlobDriver {
  readonly #settings: S3Settings
  readonly #http: GuardedHttpClient

  constructor(settings: S3Settings, http: GuardedHttpClient) {
    this.#settings = settings
    this.#http = http
  }

  async sizeOf(key: string): Promise<number | undefined> {
    const answer = await this.#small({ method: 'HEAD', key })
    // S3 answers 403 instead of 404 if the access keys have no permission to list the bucket. If they have no permission at all,
    // the next request fails.
    if (answer.status === 404 || answer.status === 403) return undefined
    await this.#requireSuccess(answer)
    return Number(answer.head.headers['content-length'])
  }

  /**
   * Streams the bytes to the store. Sends the last chunk only if the hash is right. Then reads the object back, because the
   * store may have damaged it. If the store fails after it got all bytes, it may have kept them nevertheless, for example from another
   * upload of the same bytes. Reading them back decides this too. It also decides if the store answers with success before it has read
   * the body, as OpenStack Swift does (202) while it has an object with this key from a later request.
   */
  async stage(key: string, expected: Expected, body: Readable, signal: AbortSignal): Promise<Staged> {
    const upload = new Upload(expected, body)
    const failure = await this.#put(key, expected, upload, signal)
    if (failure && !upload.sha256) throw failure
    const sha256 = await upload.finish()
    try {
      await digestOf(this, key, expected, signal)
    } catch (error) {
      if (failure) throw failure
      if (!(error instanceof WrongBytes)) throw error
      await this.remove(key)
      throw new S3Failure(`it does not keep what it is sent. ${error.message}`)
    }
    return { sha256, commit: async () => {}, discard: async () => {} }
  }

  /**
   * Sends an upload to the store. Tries again while the store is busy or unreachable, until it has begun to read the body, which is there
   * only once. Resolves to the failure of the store if it failed after that.
   */
  async #put(
    key: string,
    { sizeBytes, digest }: Expected,
    upload: Upload,
    signal: AbortSignal,
  ): Promise<S3Failure | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#call({
          method: 'PUT',
          key,
          headers: { 'content-length': String(sizeBytes) },
          sha256: sha256Of(digest),
          signal,
          send: write => upload.send(write),
        })
        await this.#requireSuccess(answer)
        // A store that answers before it has all bytes may not read on. Closing the connection ends a pending write.
        if (upload.sha256) answer.head.resume()
        else answer.head.destroy()
        return undefined
      } catch (error) {
        if (!(error instanceof S3Failure && error.mayRecover) || signal.aborted) throw error
        if (upload.isBegun) return error
        if (attempt === MAX_TRIES) throw error
      }
      await sleep(pauseMs(attempt))
    }
  }

  async read(key: string, signal: AbortSignal): Promise<Readable> {
    const answer = await this.#call({ method: 'GET', key, signal })
    await this.#requireSuccess(answer)
    return answer.head
  }

  async remove(key: string): Promise<void> {
    const answer = await this.#small({ method: 'DELETE', key })
    if (answer.status === 404) answer.head.resume()
    else await this.#requireSuccess(answer, 'drain')
  }

  /** Returns a URL that lets anybody read an object. `answer` sets headers of the response, such as its content type. */
  presignGet(key: string, validForSecs: number, answer: Record<string, string>): Promise<string> {
    return this.#presign('GET', key, validForSecs, {}, answer)
  }

  /** Returns a URL that lets anybody write an object, with exactly these headers. */
  presignPut(key: string, validForSecs: number, headers: Record<string, string>): Promise<string> {
    return this.#presign('PUT', key, validForSecs, headers, {})
  }

  /**
   * Writes, reads and removes a small object. Returns whether the store honours `If-None-Match: *`. Throws `S3Failure` or
   * `AddressRefused` with a human-readable message.
   */
  async probe(prefix: string | undefined): Promise<{ takesConditions: boolean }> {
    const key = [...(prefix ? [prefix] : []), `muster-probe-${randomUUID()}`].join('/')
    const signal = AbortSignal.timeout(SMALL_REQUEST_MS)
    const bytes = randomBytes(32)
    await this.writeSmall(key, bytes, signal)
    let conditional: Answer
    try {
      await this.readSmall(key, bytes, signal)
      conditional = await this.#putSmall(key, bytes, { 'if-none-match': '*' }, signal)
      conditional.head.resume()
    } catch (error) {
      // An error of the removal is ignored, because the first error says more.
      await this.deleteSmall(key, signal).catch(() => {})
      throw error
    }
    await this.deleteSmall(key, signal)
    return { takesConditions: conditional.status === 412 }
  }

  /** Sends an unsigned request to the endpoint. Any response counts as success. Resolves to its description. */
  async reach(signal: AbortSignal): Promise<string> {
    const url = new URL(this.#settings.endpoint)
    try {
      const head = await this.#http.request(url, { method: 'GET', headers: {}, signal })
      const protocol = (head.socket as Partial<TLSSocket>).getProtocol?.()
      head.destroy()
      return `${url.host} answers${protocol ? `, ${protocol.replace('v', ' ')}` : ''}`
    } catch (error) {
      throw asFailure(error, url)
    }
  }

  /**
   * Requests an absent object with a signature. An error about the object or the bucket proves the keys. So does `AccessDenied`, which keys
   * without the right to list the bucket get for an absent object. Other errors are failures, and so is a 404 of a server that is no store.
   */
  async signIn(key: string, signal: AbortSignal): Promise<string> {
    try {
      const answer = await this.#call({ method: 'GET', key, signal })
      await this.#requireSuccess(answer, 'drain')
    } catch (error) {
      if (!(error instanceof S3Failure)) throw error
      if (!SIGNED_IN.includes(error.code ?? '')) throw error
    }
    return 'The access key is known'
  }

  /** Writes a small object. Throws `S3Failure`. */
  async writeSmall(key: string, bytes: Buffer, signal: AbortSignal): Promise<string> {
    await this.#requireSuccess(await this.#putSmall(key, bytes, {}, signal), 'drain')
    return `${bytes.length} bytes written`
  }

  /** Reads a small object. Throws `S3Failure` if it has other bytes. */
  async readSmall(key: string, bytes: Buffer, signal: AbortSignal): Promise<string> {
    const got = await this.#call({ method: 'GET', key, signal })
    await this.#requireSuccess(got)
    if (!(await startOf(got.head)).equals(bytes))
      throw new S3Failure('it returned other bytes than were written.')
    return 'The same bytes'
  }

  /** Deletes a small object. Throws `S3Failure`. */
  async deleteSmall(key: string, signal: AbortSignal): Promise<string> {
    await this.#requireSuccess(await this.#call({ method: 'DELETE', key, signal }), 'drain')
    return 'Deleted'
  }

  #putSmall(
    key: string,
    bytes: Buffer,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Answer> {
    return this.#call({
      method: 'PUT',
      key,
      headers: { 'content-length': String(bytes.length), ...headers },
      signal,
      send: write => write(bytes),
    })
  }

  async #presign(
    method: string,
    key: string,
    validForSecs: number,
    headers: Record<string, string>,
    query: Record<string, string>,
  ): Promise<string> {
    const url = this.#urlOf(key)
    for (const [name, value] of Object.entries({ ...query, 'X-Amz-Expires': String(validForSecs) }))
      url.searchParams.set(name, value)
    const signed = await new AwsV4Signer({ ...this.#signing(url), method, headers, signQuery: true }).sign()
    return signed.url.href
  }

  #signing(url: URL) {
    const { accessKeyId, secretAccessKey, region = DEFAULT_REGION } = this.#settings
    return { url: url.href, accessKeyId, secretAccessKey, region, service: 's3' }
  }

  /** Sends a request without a body. Retries it while the store is busy or unreachable. */
  async #small(call: Omit<Call, 'signal'>): Promise<Answer> {
    const signal = AbortSignal.timeout(SMALL_REQUEST_MS)
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === MAX_TRIES
      try {
        const answer = await this.#call({ ...call, signal })
        if (isLast || (answer.status < 500 && answer.status !== 429)) return answer
        answer.head.resume()
      } catch (error) {
        if (isLast || !(error instanceof S3Failure && error.mayRecover) || signal.aborted) throw error
      }
      await sleep(pauseMs(attempt))
    }
  }

  async #call({ method, key, headers = {}, sha256, signal, send }: Call): Promise<Answer> {
    const url = this.#urlOf(key)
    const signed = await new AwsV4Signer({
      ...this.#signing(url),
      method,
      headers: { ...headers, 'x-amz-content-sha256': sha256 ?? UNSIGNED },
    }).sign()
    try {
      const head = await this.#http.request(url, {
        method,
        headers: Object.fromEntries(signed.headers),
        signal,
        ...(send && { send }),
      })
      return { head, status: head.statusCode! }
    } catch (error) {
      throw asFailure(error, url)
    }
  }

  #urlOf(key: string): URL {
    const { endpoint, bucket, forcePathStyle } = this.#settings
    const url = new URL(endpoint)
    const path = key.split('/').map(strictlyEncoded).join('/')
    // An IP address has no subdomains, so the bucket must be in the path.
    const isInPath = forcePathStyle || isIP(url.hostname) === 4 || url.hostname.startsWith('[')
    if (!isInPath) url.hostname = `${bucket}.${url.hostname}`
    url.pathname = `${url.pathname.replace(/\/+$/, '')}/${isInPath ? `${bucket}/` : ''}${path}`
    return url
  }

  /**
   * Throws `S3Failure` with the reason of an error response. Drains the body of a successful response, or leaves it for the caller
   * to read.
   */
  async #requireSuccess({ head, status }: Answer, body: 'drain' | 'leave' = 'leave'): Promise<void> {
    if (status >= 200 && status < 300) {
      if (body === 'drain') head.resume()
      return
    }
    const text = (await startOf(head)).toString()
    const code = /<Code>([\w.-]{1,100})<\/Code>/.exec(text)?.[1]
    const { bucket, accessKeyId, region = DEFAULT_REGION } = this.#settings
    const bucketRegion =
      head.headers['x-amz-bucket-region'] ?? /<Region>([\w-]{1,64})<\/Region>/.exec(text)?.[1]
    const answered = `${status}${code ? ` ${code}` : ''}`
    const failure = (message: string, mayRecover = false): S3Failure =>
      new S3Failure(`${message} (${answered}).`, { mayRecover, status, code })
    if (code === 'InvalidAccessKeyId') throw failure(`it does not know the access key id ${accessKeyId}`)
    if (code === 'SignatureDoesNotMatch') throw failure(`the secret access key is wrong for ${accessKeyId}`)
    if (code === 'RequestTimeTooSkewed') throw failure("its clock and the hub's differ too much")
    if (code === 'NoSuchBucket') throw failure(`there is no bucket ${bucket}`)
    if (code === 'AuthorizationHeaderMalformed' || code === 'PermanentRedirect' || status === 301)
      throw failure(
        `the region ${region} is wrong${bucketRegion ? `, the bucket is in ${bucketRegion}` : ''}`,
      )
    if (/^(BadDigest|XAmzContentSHA256Mismatch|InvalidDigest)$/.test(code ?? ''))
      throw failure('it received other bytes than the hub sent', true)
    if (status >= 300 && status < 400) throw failure('it redirects elsewhere, which the hub does not follow')
    if (status === 401 || status === 403) throw failure(`the keys may not do this in the bucket ${bucket}`)
    if (status === 404) throw failure(`there is no such bucket or object in ${bucket}`)
    if (status === 429 || status >= 500) throw failure('it is not able to answer at the moment', true)
    throw failure('it refuses')
  }
}

type Answer = { head: IncomingMessage; status: number }

/** Bytes on their way to the store. They can be sent once. */
class Upload {
  readonly #digester: Digester
  readonly #body: Readable
  #sending: Promise<void> | undefined
  /** SHA-256 of the bytes after all of them were read. */
  sha256: Buffer | undefined

  constructor(expected: Expected, body: Readable) {
    this.#digester = new Digester(expected)
    this.#body = body
  }

  /** Whether a part of the body may have been read. */
  get isBegun(): boolean {
    return this.#sending !== undefined
  }

  /** Writes all bytes, the last chunk only if the hash is right. Throws `WrongBytes`. */
  send(write: (chunk: Uint8Array) => Promise<void>): Promise<void> {
    this.#sending = this.#read(write)
    return this.#sending
  }

  /**
   * Reads the bytes that the store did not read, after the connection has ended. Returns the SHA-256 of all bytes. Throws
   * `WrongBytes`.
   */
  async finish(): Promise<Buffer> {
    if (this.sha256) return this.sha256
    try {
      await this.#sending
    } catch (error) {
      // Any other error says only that the store does not read on.
      if (error instanceof WrongBytes) throw error
    }
    if (!this.sha256) await this.#read(async () => {})
    return this.sha256!
  }

  async #read(write: (chunk: Uint8Array) => Promise<void>): Promise<void> {
    let lastChunk: Buffer | undefined
    for await (const chunk of chunksOf(this.#body)) {
      this.#digester.update(chunk)
      if (lastChunk) await write(lastChunk)
      lastChunk = chunk
    }
    this.sha256 = this.#digester.finish()
    if (lastChunk) await write(lastChunk)
  }
}

/** Pause after a failed attempt, in milliseconds. It is random, so that requests that failed together do not retry together. */
function pauseMs(attempt: number): number {
  return FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random())
}

/** Reads a stored blob and compares it with its registered digest. Returns its SHA-256. Throws `WrongBytes` or `S3Failure`. */
export async function digestOf(
  driver: BlobDriver,
  name: string,
  expected: Expected,
  signal: AbortSignal,
): Promise<Buffer> {
  for (let attempt = 1; ; attempt++) {
    const digester = new Digester(expected)
    let leftBytes = expected.sizeBytes
    try {
      for await (const chunk of await driver.read(name, signal)) {
        digester.update(chunk as Buffer)
        leftBytes -= (chunk as Buffer).length
        // A faulty store may send an endless body.
        if (leftBytes < 0) throw new WrongBytes(`Found more than ${expected.sizeBytes} bytes.`)
      }
      return digester.finish()
    } catch (error) {
      const failure = error instanceof WrongBytes ? error : asFailure(error)
      // A broken connection also ends the body early. The object is read again, so that a broken connection does not count as wrong
      // bytes.
      const isFinal = !(failure instanceof S3Failure) || !failure.mayRecover
      if (isFinal || attempt === MAX_TRIES || signal.aborted) throw failure
      await sleep(pauseMs(attempt))
    }
  }
}

/**
 * Converts a connection error into an `S3Failure` with a human-readable message. Returns all other errors unchanged. Among them
 * are an `S3Failure`, an `AddressRefused` (the hub does not connect to the endpoint) and a `WrongBytes` (the uploading client
 * sent wrong bytes).
 */
function asFailure(error: unknown, url?: URL): unknown {
  if (error instanceof S3Failure || error instanceof AddressRefused || error instanceof WrongBytes)
    return error
  const { code = '', name } = error as NodeJS.ErrnoException
  const host = url?.host ?? 'the store'
  const failure = (message: string, mayRecover = true): S3Failure =>
    new S3Failure(message, { mayRecover, cause: error })
  if (code === 'ENOTFOUND') return failure(`there is no host ${host}.`, false)
  if (code === 'EAI_AGAIN') return failure(`the host ${host} cannot be looked up.`)
  if (code === 'ECONNREFUSED') return failure(`nothing listens at ${host}.`)
  if (/^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/.test(code)) return failure(`${host} cannot be reached.`)
  if (code === 'ETIMEDOUT' || name === 'TimeoutError' || name === 'AbortError')
    return failure(`${host} does not answer in time.`)
  if (/^ERR_SSL|^EPROTO$/.test(code))
    return failure(`${host} does not speak TLS as expected (${code}).`, false)
  if (/CERT|^(DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS)/.test(code))
    return failure(`the certificate of ${host} is not to be trusted (${code}).`, false)
  if (/^(ECONNRESET|EPIPE|HPE_)/.test(code)) return failure(`${host} broke the connection (${code}).`)
  return error
}

/** Reads the body of a small response, up to `MAX_ERROR_BYTES`. Throws `S3Failure` if the connection breaks. */
async function startOf(body: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= MAX_ERROR_BYTES) break
    }
  } catch (error) {
    throw asFailure(error)
  }
  return Buffer.concat(chunks)
}

/** SigV4 percent-encoding, stricter than `encodeURIComponent`. */
function strictlyEncoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
