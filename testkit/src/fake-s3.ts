import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { AwsV4Signer } from 'aws4fetch'

/** A fault of the fake S3 server. It affects all requests, or only those with `method`. */
type Fault = {
  method?: string
  /** Number of requests that the fault affects. All requests if absent. */
  times?: number
} & (
  | { does: 'answers'; status: number; code?: string; headers?: Record<string, string> }
  /** Sends half of a body and closes the connection. */
  | { does: 'cuts' }
  /** Accepts the request and never answers. */
  | { does: 'hangs' }
  /** Handles the request correctly, but only after `until` has resolved. */
  | { does: 'hesitates'; until: Promise<unknown> }
  /** Reads the object immediately and sends it after `for` has resolved. */
  | { does: 'waits'; for: Promise<unknown> }
  /** Sends an endless body. */
  | { does: 'streams-forever' }
  /** Stores bytes that differ from those of the request, and responds with success. */
  | { does: 'spoils' }
  /** Stores the bytes of the request, and responds with 500. */
  | { does: 'stores-and-fails' }
  /** Answers 202 after `until` has resolved, without reading the body, as OpenStack Swift does while it has a newer object. */
  | { does: 'has-newer'; until: Promise<unknown> }
)

/** An in-memory S3 server that checks signatures and hashes, with faults on request. */
export type FakeS3 = AsyncDisposable & {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Objects in the bucket, by key. */
  objects: Map<string, Buffer>
  /** Methods and keys of all requests. */
  requests: string[]
  /** Number of bytes sent as bodies of objects. */
  sentBytes(): number
  misbehave(fault: Fault): void
  behave(): void
}

/** Starts a fake S3 server on a loopback address with one bucket. */
export async function fakeS3({
  region = 'us-east-1',
  bucket = 'artifacts',
  secretAccessKey = 'a-very-secret-key',
}: {
  region?: string
  bucket?: string
  secretAccessKey?: string
} = {}): Promise<FakeS3> {
  const keys = { accessKeyId: 'AKIATEST', secretAccessKey }
  const objects = new Map<string, Buffer>()
  const requests: string[] = []
  let fault: Fault | undefined
  let sentBytes = 0

  const faultFor = (method: string): Fault | undefined => {
    if (!fault || (fault.method !== undefined && fault.method !== method)) return undefined
    const current = fault
    if (current.times !== undefined && --current.times <= 0) fault = undefined
    return current
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, `http://${request.headers.host}`)
    const [, inBucket, ...parts] = url.pathname.split('/')
    const key = parts.map(decodeURIComponent).join('/')
    const method = request.method!
    requests.push(`${method} ${key}`)
    const current = faultFor(method)
    const refuse = (status: number, code: string, more = ''): void => {
      const text = `<?xml version="1.0"?><Error><Code>${code}</Code>${more}</Error>`
      response.writeHead(status, { 'content-length': Buffer.byteLength(text), connection: 'close' })
      response.end(method === 'HEAD' ? undefined : text)
    }
    if (current?.does === 'hangs') return
    if (current?.does === 'hesitates') await current.until
    if (current?.does === 'answers') {
      for (const [name, value] of Object.entries(current.headers ?? {})) response.setHeader(name, value)
      return refuse(current.status, current.code ?? 'Told')
    }
    const wrong = await signatureProblem(request, url, { ...keys, region })
    if (wrong)
      return refuse(
        wrong.status,
        wrong.code,
        wrong.code.includes('Malformed') ? `<Region>${region}</Region>` : '',
      )
    if (inBucket !== bucket) return refuse(404, 'NoSuchBucket')
    if (method === 'PUT') {
      if (request.headers['if-none-match'] === '*' && objects.has(key))
        return refuse(412, 'PreconditionFailed')
      if (current?.does === 'has-newer') {
        await current.until
        return void response.writeHead(202).end()
      }
      if (request.headers.expect) response.writeContinue()
      const body = await buffer(request).catch(() => undefined)
      if (!body) return
      const hash = request.headers['x-amz-content-sha256']
      if (current?.does !== 'spoils' && /^[0-9a-f]{64}$/.test(String(hash)) && sha256(body) !== hash)
        return refuse(400, 'XAmzContentSHA256Mismatch')
      objects.set(key, current?.does === 'spoils' ? spoilt(body) : body)
      if (current?.does === 'stores-and-fails') return refuse(500, 'InternalError')
      response.writeHead(200, { etag: `"${createHash('md5').update(body).digest('hex')}"` }).end()
      return
    }
    if (method === 'DELETE') {
      objects.delete(key)
      response.writeHead(204).end()
      return
    }
    const object = objects.get(key)
    if (!object) return refuse(404, 'NoSuchKey')
    if (current?.does === 'streams-forever') {
      const piece = Buffer.alloc(64 * 1024)
      for (let isOpen = true; isOpen; sentBytes += piece.length)
        isOpen = await new Promise(sent => response.write(piece, error => sent(!error)))
      return
    }
    const disposition = url.searchParams.get('response-content-disposition')
    response.writeHead(200, {
      'content-length': object.length,
      ...(disposition && { 'content-disposition': disposition }),
    })
    if (method === 'HEAD') return void response.end()
    if (current?.does === 'waits') await current.for
    sentBytes += object.length
    if (current?.does !== 'cuts') return void response.end(object)
    response.write(object.subarray(0, object.length >> 1), () => response.destroy())
  }

  const server = createServer((request, response) => void handle(request, response))
  // With `Expect: 100-continue` the server answers before it reads the body, so it can refuse early.
  server.on('checkContinue', (request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket,
    region,
    ...keys,
    objects,
    requests,
    sentBytes: () => sentBytes,
    misbehave(next) {
      fault = { ...next }
    },
    behave() {
      fault = undefined
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

type Keys = { accessKeyId: string; secretAccessKey: string; region: string }

/**
 * Checks the request's AWS Signature Version 4, in the header or in the query. Returns the error to answer with, or undefined
 * if the signature is valid.
 */
async function signatureProblem(
  { method, headers, url: target }: IncomingMessage,
  url: URL,
  { region, ...keys }: Keys,
): Promise<{ status: number; code: string } | undefined> {
  const signQuery = url.searchParams.has('X-Amz-Signature')
  const authorization = headers.authorization ?? ''
  const field = (name: string): string => new RegExp(`${name}=([^,]+)`).exec(authorization)?.[1] ?? ''
  const credential = signQuery ? url.searchParams.get('X-Amz-Credential')! : field('Credential')
  const signed = signQuery ? url.searchParams.get('X-Amz-SignedHeaders')! : field('SignedHeaders')
  const signature = signQuery ? url.searchParams.get('X-Amz-Signature')! : field('Signature')
  const datetime = signQuery ? url.searchParams.get('X-Amz-Date')! : String(headers['x-amz-date'])
  const [keyId, , theirRegion] = credential.split('/')
  if (keyId !== keys.accessKeyId) return { status: 403, code: 'InvalidAccessKeyId' }
  if (theirRegion !== region) return { status: 400, code: 'AuthorizationHeaderMalformed' }
  const names = signed.split(';').filter(name => name !== 'host' && name !== 'x-amz-date')
  const again = new URL(target!, url)
  again.searchParams.delete('X-Amz-Signature')
  const right = await new AwsV4Signer({
    ...keys,
    region,
    service: 's3',
    url: again.href,
    method: method!,
    headers: Object.fromEntries(names.map(name => [name, String(headers[name])])),
    datetime,
    signQuery,
    allHeaders: true,
  }).sign()
  const expected = signQuery
    ? right.url.searchParams.get('X-Amz-Signature')
    : /Signature=(\w+)/.exec(right.headers.get('authorization')!)?.[1]
  return signature === expected ? undefined : { status: 403, code: 'SignatureDoesNotMatch' }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Returns a copy in which the last byte differs. */
function spoilt(bytes: Buffer): Buffer {
  const other = Buffer.from(bytes)
  if (other.length > 0) other[other.length - 1]! ^= 1
  return other
}
