import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createLog } from '@muster/hub/log'
import {
  type DevicePage,
  databaseSession,
  devicePage,
  freePort,
  hashOfStream,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../platform/database/client/connection.ts'
import { createHttpProxy } from './http-proxy.ts'
import { ProxyTokens } from './proxy-tokens.ts'

const TEXT = 'The quick brown fox jumps over the lazy dog.'
const ETAG = '"fox"'
/** Short response timeout for tests, in milliseconds. */
const IMPATIENT_MS = 200

let hub: TestHub
let page: DevicePage
/** Connections from the hub to the device's server, and the paths requested on them. */
const connections = new Set<Socket>()
const asked: string[] = []
// The server never closes idle connections, because the hub might be about to reuse one.
const app = createServer({ keepAliveTimeout: 0 }, (request, response) => void application(request, response))

beforeAll(async () => {
  hub = await testHub()
  app.on('connection', socket => connections.add(socket))
  await once(app.listen(0, '127.0.0.1'), 'listening')
  page = await devicePage(hub, app)
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  app.closeAllConnections()
  app.close()
})

async function application(request: IncomingMessage, response: ServerResponse): Promise<void> {
  asked.push(request.url!)
  if (request.url === '/text') sendText(request, response)
  else if (request.url!.startsWith('/identity?')) {
    // Writes the response directly to the socket. Old small web servers send `Transfer-Encoding: identity`, Node does not.
    const [length, text, close] = decodeURIComponent(request.url!.slice('/identity?'.length)).split('&')
    const lengthLine = length ? `Content-Length: ${length}\r\n` : ''
    request.socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n${lengthLine}\r\n${text}`)
    if (close) request.socket.end()
  } else if (request.url === '/early') {
    response.write('begun')
    await hashOfStream(request)
    setTimeout(() => response.end(' and done'), 3 * IMPATIENT_MS)
  } else if (request.url === '/silent') {
    // Requests to this path never get a response.
  } else response.end('hello')
}

/** Serves a file as web servers do: whole, in ranges, or only if it has changed. */
function sendText(request: IncomingMessage, response: ServerResponse): void {
  const { range, 'if-range': ifRange } = request.headers
  response.setHeader('etag', ETAG).setHeader('accept-ranges', 'bytes')
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? []
  if (from === undefined || (ifRange !== undefined && ifRange !== ETAG)) response.end(TEXT)
  else if (Number(from) >= TEXT.length)
    response.writeHead(416, { 'content-range': `bytes */${TEXT.length}` }).end()
  else
    response
      .writeHead(206, { 'content-range': `bytes ${from}-${to}/${TEXT.length}` })
      .end(TEXT.slice(Number(from), Number(to) + 1))
}

async function textOf(answer: IncomingMessage): Promise<string> {
  return Buffer.concat(await answer.toArray()).toString()
}

it('forwards range requests to the device', async () => {
  const part = async (headers: Record<string, string>) => {
    const answer = await page.ask('/text', { headers })
    const { 'content-range': range, etag } = answer.headers
    return { status: answer.statusCode, range, etag, text: await textOf(answer) }
  }
  const size = TEXT.length
  expect(await part({ range: 'bytes=4-8' })).toEqual({
    status: 206,
    range: `bytes 4-8/${size}`,
    etag: ETAG,
    text: 'quick',
  })
  expect(await part({ range: 'bytes=4-8', 'if-range': ETAG })).toMatchObject({ status: 206, text: 'quick' })
  expect(await part({ range: 'bytes=4-8', 'if-range': '"older"' })).toMatchObject({
    status: 200,
    range: undefined,
    text: TEXT,
  })
  expect(await part({ range: 'bytes=99-100' })).toMatchObject({ status: 416, range: `bytes */${size}` })
})

it('reuses connections to the browser and to the device', async () => {
  await textOf(await page.ask('/first'))
  const known = connections.size
  const sockets = new Set<unknown>()
  for (let n = 0; n < 20; n++) {
    const answer = await page.ask(`/again/${n}`)
    sockets.add(answer.socket)
    await textOf(answer)
  }
  expect(connections.size).toBe(known)
  expect(sockets.size).toBe(1)
})

/**
 * Returns the text of an ordinary page. Callers retry: on a busy machine, a proxy with a short timeout may report a timeout
 * even for this page.
 */
async function textAt(port: number): Promise<string> {
  return textOf(await page.ask('/after', { port }))
}

function raise(message: string): never {
  throw new Error(message)
}

describe('an answer with Transfer-Encoding: identity', () => {
  it.each([
    ['ends after its Content-Length, even if the connection stays open', '/identity?5&hello', 'hello'],
    ['ends after its Content-Length, even if more bytes follow', '/identity?5&hello world', 'hello'],
    ['and a Content-Length of 0 ends after its head', '/identity?0&', ''],
    ['and without Content-Length ends with its connection', '/identity?&hello&close', 'hello'],
  ])('%s', async (_what, path, text) => {
    const answer = await page.ask(path.replace(' ', '%20'))
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['transfer-encoding']).not.toBe('identity')
    expect(await textOf(answer)).toBe(text)
    expect(await textOf(await page.ask('/next'))).toBe('hello')
  })

  it('and fewer bytes than its Content-Length breaks off for the browser too', async () => {
    const answer = await page.ask('/identity?9&hello&close')
    await expect(textOf(answer)).rejects.toThrow()
  })

  it('to HEAD has no body', async () => {
    const answer = await page.ask('/identity?5&', { method: 'HEAD' })
    expect(answer.headers['content-length']).toBe('5')
    expect(await textOf(answer)).toBe('')
  })
})

/** Starts another proxy to the device's page with these timeouts. `spoil` changes each response before the proxy handles it. */
async function startProxy(
  answerTimeoutMs = IMPATIENT_MS,
  waitTimeoutMs = 60_000,
  spoil: (response: ServerResponse) => void = () => {},
  tokens = hub.services.proxy.tokens,
) {
  const { hosts } = hub.services.proxy
  const proxy = createHttpProxy({
    publicUrl: hub.publicUrl,
    hosts,
    tokens,
    reach: { find: async deviceId => hub.devices.get(deviceId) },
    rights: hub.rights,
    shares: hub.shares,
    log: createLog('silent'),
    answerTimeoutMs,
    waitTimeoutMs,
  })
  const server = createServer((request, response) => {
    spoil(response)
    void proxy.handle(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    server,
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

it('answers with an error page if a service does not answer in time', async () => {
  using impatient = await startProxy()
  const { port } = impatient
  const answer = await page.ask('/silent', { port })
  expect(answer.statusCode).toBe(504)
  expect(answer.headers['content-type']).toContain('text/html')
  expect(await textOf(answer)).toContain('did not answer in time')
  expect(asked).toContain('/silent')
  await until('the next one is answered', async () => (await textAt(port)) === 'hello')
})

it('reports the device as busy to requests that wait too long for a free connection', async () => {
  using hurried = await startProxy(60_000, IMPATIENT_MS)
  const { port } = hurried
  const held: ClientRequest[] = []
  const before = asked.length
  for (let n = 0; n < 8; n++)
    page.ask('/silent', { port, agent: false }, outgoing => held.push(outgoing.end())).catch(() => {})
  await until('all connections are in use', () => asked.length === before + 8)
  const answer = await page.ask('/waiting', { port, method: 'POST', agent: false })
  expect(answer.statusCode).toBe(503)
  expect(await textOf(answer)).toContain('Too many requests')
  for (const outgoing of held) outgoing.destroy()
  await until('a connection is free again', async () => (await textAt(port)) === 'hello')
  expect(asked).not.toContain('/waiting')
})

it('reports an unavailable database, instead of an offline device', async () => {
  const connection = { host: '127.0.0.1', port: await freePort(), user: 'none', database: 'none' }
  const { db, ...database } = openDatabase(connection, () => {})
  await using _database = database
  using blind = await startProxy(60_000, 60_000, () => {}, new ProxyTokens(db, hub.services.jwts))
  const { port } = blind
  const answers: string[] = []
  for (const path of ['/text', '/?muster_token=x']) {
    const answer = await page.ask(path, { port, agent: false })
    answers.push(`${answer.statusCode} ${/<h1>(.*)<\/h1>/.exec(await textOf(answer))?.[1]}`)
  }
  const { jwt } = await page.owner.invoke('devices_IssueHttpProxyToken', { deviceId: page.device.deviceId })
  const link = await page.ask(`/?muster_token=${jwt}`, { port, agent: false })
  answers.push(`${link.statusCode} ${/<h1>(.*)<\/h1>/.exec(await textOf(link))?.[1]}`)
  expect(answers).toEqual([
    '503 The hub cannot check this link',
    '401 This link has ended',
    '503 The hub cannot check this link',
  ])
})

it('survives an unexpected error in one request', async () => {
  let isSpoilt = true
  using broken = await startProxy(60_000, 60_000, response => {
    if (isSpoilt) response.writeHead = () => raise('no head')
  })
  const { port } = broken
  await expect(page.ask('/first', { port, agent: false })).rejects.toThrow('socket hang up')
  isSpoilt = false
  expect(await textOf(await page.ask('/after', { port }))).toBe('hello')
})

it('applies no deadline to a service that began to answer before the request was complete', async () => {
  using impatient = await startProxy()
  const options = { port: impatient.port, method: 'POST' }
  const answer = await until('one is begun in time', async () => {
    let outgoing: ClientRequest | undefined
    const begun = await page.ask('/early', options, one => {
      one.write('one')
      outgoing = one
    })
    outgoing!.end('two')
    return begun.statusCode === 200 && begun
  })
  expect(await textOf(answer)).toBe('begun and done')
})

it('does not forward a request whose browser disconnected during the token check', async () => {
  using patient = await startProxy(60_000)
  await using session = await databaseSession(hub)
  const left = once(patient.server, 'request').then(([, response]) =>
    once(response as ServerResponse, 'close'),
  )
  await session.lock('proxy_token')
  const { promise, resolve } = Promise.withResolvers<ClientRequest>()
  const asking = page.ask('/left', { port: patient.port, agent: false }, outgoing => resolve(outgoing.end()))
  await session.waitingStatements(1)
  ;(await promise).destroy()
  await expect(asking).rejects.toThrow('socket hang up')
  await left
  await session.release()
  expect(await textOf(await page.ask('/after', { port: patient.port }))).toBe('hello')
  // Idle connections to the service close after 4 s. The last channel is the device's own, over which it runs actions.
  await until('no connection is left', () => page.device.link.channelCount === 1)
})
