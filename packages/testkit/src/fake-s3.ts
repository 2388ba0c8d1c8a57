import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { AwsV4Signer } from 'aws4fetch'

/** What a store does instead of what it should: to every request, or to those of one method. */
type Mischief = {
  method?: string
  /** How many requests; all without it. */
  times?: number
} & (
  | { does: 'answers'; status: number; code?: string; headers?: Record<string, string> }
  /** Sends half of a body and ends the connection. */
  | { does: 'cuts' }
  /** Takes the request and says nothing. */
  | { does: 'hangs' }
  /** Answers as it should, but only then. */
  | { does: 'hesitates'; until: Promise<unknown> }
  /** Sends what lay there when it was asked, but only later. */
  | { does: 'waits'; for: Promise<unknown> }
  /** Sends a body without an end. */
  | { does: 'pours' }
  /** Stores other bytes than it was sent, and says that all is well. */
  | { does: 'spoils' }
)

/** An object store in memory that checks signatures and hashes, and misbehaves when it is told to. */
export type FakeS3 = AsyncDisposable & {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** What lies in the bucket, by key. */
  objects: Map<string, Buffer>
  /** Methods and keys of all requests so far. */
  requests: string[]
  /** Bytes that were sent out so far, as bodies of objects. */
  sentBytes(): number
  misbehave(mischief: Mischief): void
  behave(): void
}

/** Starts a fake object store on loopback with one bucket. */
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
  let mischief: Mischief | undefined
  let sentBytes = 0

  const mischiefFor = (method: string): Mischief | undefined => {
    if (!mischief || (mischief.method !== undefined && mischief.method !== method)) return undefined
    const told = mischief
    if (told.times !== undefined && --told.times <= 0) mischief = undefined
    return told
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, `http://${request.headers.host}`)
    const [, inBucket, ...parts] = url.pathname.split('/')
    const key = parts.map(decodeURIComponent).join('/')
    const method = request.method!
    requests.push(`${method} ${key}`)
    const told = mischiefFor(method)
    const refuse = (status: number, code: string, more = ''): void => {
      const text = `<?xml version="1.0"?><Error><Code>${code}</Code>${more}</Error>`
      response.writeHead(status, { 'content-length': Buffer.byteLength(text), connection: 'close' })
      response.end(method === 'HEAD' ? undefined : text)
    }
    if (told?.does === 'hangs') return
    if (told?.does === 'hesitates') await told.until
    if (told?.does === 'answers') {
      for (const [name, value] of Object.entries(told.headers ?? {})) response.setHeader(name, value)
      return refuse(told.status, told.code ?? 'Told')
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
      if (request.headers.expect) response.writeContinue()
      const body = await buffer(request).catch(() => undefined)
      if (!body) return
      const hash = request.headers['x-amz-content-sha256']
      if (told?.does !== 'spoils' && /^[0-9a-f]{64}$/.test(String(hash)) && sha256(body) !== hash)
        return refuse(400, 'XAmzContentSHA256Mismatch')
      objects.set(key, told?.does === 'spoils' ? spoilt(body) : body)
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
    if (told?.does === 'pours') {
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
    if (told?.does === 'waits') await told.for
    sentBytes += object.length
    if (told?.does !== 'cuts') return void response.end(object)
    response.write(object.subarray(0, object.length >> 1), () => response.destroy())
  }

  const server = createServer((request, response) => void handle(request, response))
  // Who asks first is told before the body is read.
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
      mischief = { ...next }
    },
    behave() {
      mischief = undefined
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

type Keys = { accessKeyId: string; secretAccessKey: string; region: string }

/** Signs a request again and compares (Signature Version 4, in the header or in the address). */
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

/** The same number of bytes, one of them wrong. */
function spoilt(bytes: Buffer): Buffer {
  const other = Buffer.from(bytes)
  if (other.length > 0) other[other.length - 1]! ^= 1
  return other
}
