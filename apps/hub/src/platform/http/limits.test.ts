import { once } from 'node:events'
import { connect, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { ask, type TestHub, type TestUser, testHub, until } from '@muster/testkit'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { SYSTEM } from '../pipeline/caller.ts'
import type { Core } from '../pipeline/core.ts'
import { createLog } from '../runtime/log.ts'
import { createServer } from './server.ts'

const PATH = '/api/v1/actions/invoke/actor_GetActor'

let hub: TestHub
let ada: TestUser
beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user()
})
afterAll(() => hub[Symbol.asyncDispose]())

function connectionsOf(server: Server): Promise<number> {
  return new Promise(done => server.getConnections((_error, count) => done(count)))
}

type Client = { socket: Socket; answer: () => string; closed: Promise<unknown> }

/** Opens a connection, sends a text and collects the response. */
async function opened(text: string, port = hub.address.port): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.setEncoding('utf8')
  let answer = ''
  socket.on('data', chunk => {
    answer += chunk
  })
  const closed = new Promise(done => socket.once('close', done))
  await once(socket, 'connect')
  if (text) socket.write(text)
  return { socket, answer: () => answer, closed }
}

/** Status lines of the responses with status 200 that a client has received. */
function answersOf({ answer }: Client): string[] {
  return answer().match(/HTTP\/1\.1 200 /g) ?? []
}

describe.concurrent('a slow client', { timeout: 60_000 }, () => {
  const HEAD_TIMEOUT_MS = 1_000

  /** Port of a server that waits for the head of a request for 1 s. A hub waits for 15 s; both look for late clients every 5 s. */
  let port: number
  let app: FastifyInstance
  beforeAll(async () => {
    app = await createServer({
      config: loadConfig({ MUSTER_PORT: '0' }),
      instanceKey: () => Buffer.alloc(32),
      log: createLog('silent'),
      core: () => undefined,
      publicUrl: () => 'http://hub.example',
    })
    expect(app.server.headersTimeout).toBe(15_000)
    app.server.headersTimeout = HEAD_TIMEOUT_MS
    await app.listen({ host: '127.0.0.1', port: 0 })
    port = (app.server.address() as { port: number }).port
  })
  afterAll(() => app.close())

  it.each([
    ['sends nothing', ''],
    ['stops in the request line', 'GET /healthz HT'],
    ['stops in its headers', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-More: '],
  ])('is disconnected when it %s', async (_what, text) => {
    const from = performance.now()
    const { answer, closed } = await opened(text, port)
    await closed
    expect(answer()).toMatch(/^HTTP\/1\.1 408 [\s\S]*"The request took too long\."/)
    expect(performance.now() - from).toBeGreaterThan(HEAD_TIMEOUT_MS / 2)
    expect(performance.now() - from).toBeLessThan(HEAD_TIMEOUT_MS + 25_000)
  })

  it('is disconnected even if it keeps sending headers', async () => {
    const { socket, answer, closed } = await opened('GET /healthz HTTP/1.1\r\nHost: localhost\r\n', port)
    const timer = setInterval(() => socket.write('X-More: y\r\n'), 200)
    await closed
    clearInterval(timer)
    expect(answer()).toMatch(/^HTTP\/1\.1 408 /)
  })
})

it('ignores an upgrade to HTTP/2 and answers the request', async () => {
  const { socket, answer } = await opened(
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n',
  )
  await until('it answers', () => answer().includes('alive'))
  expect(answer()).toMatch(/^HTTP\/1\.1 200 /)
  socket.destroy()
})

it('keeps an idle connection longer than proxies and other clients do', async () => {
  const { socket, answer } = await opened('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until('it answers', () => answer().includes('alive'))
  // The hub must keep idle connections longer than a proxy does. Caddy closes an idle connection after 2 min, other proxies
  // earlier.
  expect(Number(/^keep-alive: timeout=(\d+)\r$/im.exec(answer())?.[1])).toBeGreaterThan(120)
  socket.destroy()
})

it('disconnects a client whose body does not arrive in time', async () => {
  const app = await createServer({
    config: loadConfig({ MUSTER_PORT: '0' }),
    instanceKey: () => Buffer.alloc(32),
    log: createLog('silent'),
    core: () => undefined,
    publicUrl: () => 'http://hub.example',
    requestTimeoutMs: 300,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const { answer, closed } = await opened(
    `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    port,
  )
  await closed
  expect(answer()).toMatch(/^HTTP\/1\.1 (408|503) /)
  expect(app.server.headersTimeout).toBe(15_000)
  await app.close()
})

it('disconnects a client that does not read its answer', async () => {
  const app = await createServer({
    config: loadConfig({ MUSTER_PORT: '0' }),
    instanceKey: () => Buffer.alloc(32),
    log: createLog('silent'),
    core: () => ({ readiness: {} }) as Core,
    publicUrl: () => 'http://hub.example',
    stallMs: 300,
  })
  // The response is larger than the socket buffers of the system.
  app.get('/large', async () => Buffer.alloc(64 * 1024 * 1024))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const { socket, closed } = await opened('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n', port)
  socket.pause()
  await until('the server has accepted it', async () => (await connectionsOf(app.server)) === 1)
  await until('it is disconnected', async () => (await connectionsOf(app.server)) === 0)
  socket.resume()
  await closed
  await app.close()
})

it('serves other clients in time while hundreds of connections send incomplete requests', {
  timeout: 90_000,
}, async () => {
  /** 99th percentile of the time of an action, in milliseconds. */
  const slowMs = async (): Promise<number> => {
    const times: number[] = []
    const caller = async (): Promise<void> => {
      for (let count = 0; count < 60; count++) {
        const from = performance.now()
        await ada.invoke('organizations_Query', {})
        times.push(performance.now() - from)
      }
    }
    await Promise.all([caller(), caller(), caller(), caller()])
    return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!
  }
  await slowMs()
  const alone = await slowMs()
  const half = `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  const clients: Client[] = []
  for (let count = 0; count < 600; count++) {
    const text = ['', half, `${half}Content-Length: 1000\r\n\r\n{`][count % 3]!
    clients.push(await opened(text))
  }
  // The smaller of two measurements counts. A pause of the machine affects only one measurement, but the slow clients affect
  // both.
  const together = Math.min(await slowMs(), await slowMs())
  for (const { socket } of clients) socket.destroy()
  // The goal is 500 ms (docs/goals.md, S22). A busy machine may be slower even without these clients.
  expect(together).toBeLessThan(Math.max(500, 3 * alone))
})

describe('a hostile request', () => {
  it('with thousands of headers is answered or refused', async () => {
    const headers = Array.from({ length: 3_500 }, () => 'a:\r\n').join('')
    const { answer, closed } = await opened(
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`,
    )
    await closed
    expect(answer()).toMatch(/^HTTP\/1\.1 (200|431) /)
  })

  it.each([
    ['a path of 100 kB', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    [
      'a header of 100 kB',
      `GET / HTTP/1.1\r\nHost: localhost\r\nCookie: muster=${'x'.repeat(100_000)}\r\n\r\n`,
    ],
    ['20,000 cookies', `GET / HTTP/1.1\r\nHost: localhost\r\nCookie: ${'a=b; '.repeat(20_000)}\r\n\r\n`],
  ])('with %s is refused', async (_what, text) => {
    const { answer, closed } = await opened(text)
    await closed
    // The bytes that the client is still sending may reset the connection before the client reads the response, so an empty response is
    // accepted.
    expect(answer()).toMatch(/^(HTTP\/1\.1 431 [\s\S]*"The headers are too large\.".*)?$/)
  })

  it.each(['GET /status?from=mail', 'GET /?x=', 'HEAD /'])(
    'D12: with too large a head gets a page that says what to do, if a browser sent it: %s',
    async start => {
      const { answer, closed } = await opened(
        `${start}${'x'.repeat(17_000)} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*\r\nCookie: a=b\r\n\r\n`,
      )
      await until('it is answered', () => answer().includes('</html>'))
      expect(answer()).toMatch(
        /^HTTP\/1\.1 431 [\s\S]*content-type: text\/html[\s\S]*Remove the cookies of this site/,
      )
      await closed
    },
  )

  it('with a large body for a route other than an action is refused', async () => {
    const body = { email: 'x'.repeat(70_000), password: 'x' }
    const answer = await ask(hub, '/api/private/login', { body })
    expect(answer.status).toBe(413)
    expect(answer.json()).toMatchObject({ kind: 'Invalid', message: 'The body is larger than 65536 bytes.' })
  })

  it('with a large body and without credentials is refused before the body is read', async () => {
    const head = `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
    const announced = await opened(`${head}Content-Length: ${8 * 1024 * 1024}\r\n\r\n{`)
    await until('it is refused', () => announced.answer().includes('which is all that it may have'))
    expect(announced.answer()).toMatch(/^HTTP\/1\.1 413 /)
    announced.socket.destroy()

    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
    const endless = await opened(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(4)}`)
    endless.socket.write('1\r\n \r\n')
    await until('it is refused', () => endless.answer().includes('which is all that it may have'))
    expect(endless.answer()).toMatch(/^HTTP\/1\.1 413 /)
    endless.socket.destroy()
  })

  it('pipelined more than eight times closes its connection and does not delay other clients', async () => {
    const asked = 'GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const many = await opened(asked.repeat(2000))
    expect((await ask(hub, '/healthz')).status).toBe(200)
    await many.closed
    expect(answersOf(many).length).toBeLessThanOrEqual(8)
    await expect
      .poll(async () => (await hub.pipeline.run(SYSTEM, 'audit_QueryAuditLogEvents', {})).events)
      .toContainEqual(
        expect.objectContaining({
          event: 'limits_Reached',
          data: expect.objectContaining({ limit: 'address-pipelined-requests', address: '127.0.0.1' }),
        }),
      )
    const few = await opened(
      `${asked.repeat(7)}GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
    await few.closed
    expect(answersOf(few)).toHaveLength(8)
    expect(few.answer()).toContain('alive')
  })

  it('with a compressed body is refused before it is decompressed', async () => {
    const body = gzipSync(Buffer.alloc(50 * 1024 * 1024, ' '))
    const answer = await ask(hub, PATH, { body, headers: { 'content-encoding': 'gzip' } })
    expect(answer.status).toBe(415)
    expect(answer.json()).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('Content-Encoding'),
    })
  })

  it.each([
    ['60,000 nested arrays', '['.repeat(60_000)],
    ['12,000 nested objects', '{"a":'.repeat(12_000)],
    [
      'an object of 5,000 members',
      `{${Array.from({ length: 5_000 }, (_, index) => `"k${index}":0`).join(',')}}`,
    ],
    ['a number of 60,000 digits', '1'.repeat(60_000)],
    ['a string of 10,000 escapes', `{"a":"${'\\u0000'.repeat(10_000)}"}`],
  ])('with %s as its body is answered at once', async (_what, body) => {
    const tookMs: number[] = []
    for (let time = 0; time < 3; time++) {
      const from = performance.now()
      const answer = await ask(hub, PATH, { body })
      expect([200, 400]).toContain(answer.status)
      tookMs.push(performance.now() - from)
    }
    // The fastest of three requests counts, because other work on the machine can only make a request slower.
    expect(Math.min(...tookMs)).toBeLessThan(500)
  })

  it.each([
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n'],
    ['a length and chunked encoding', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
    ['an unknown transfer encoding', 'Transfer-Encoding: chunked, identity\r\n'],
    ['a length that is not a number', 'Content-Length: 2a\r\n'],
    ['a length with a sign', 'Content-Length: +2\r\n'],
    ['a blank before the colon', 'Content-Length : 2\r\n'],
    ['a folded header', 'X: a\r\n b\r\nContent-Length: 2\r\n'],
  ])('with %s is refused, because a proxy could see a different end of it', async (_what, lines) => {
    const { answer, closed, socket } = await opened(
      `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${lines}\r\n{}GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
    await closed
    socket.destroy()
    expect(answer()).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer()).not.toContain('alive')
  })
})

it('is not affected by names such as __proto__ in any part of a request', async () => {
  const planted = '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}'
  const before = Object.getOwnPropertyNames(Object.prototype)
  for (const name of ['actor_GetActor', 'projects_Query', 'organizations_Query', 'users_Query'])
    await ask(hub, `/api/v1/actions/invoke/${name}?__proto__[isAdmin]=1&constructor.prototype.isAdmin=1`, {
      as: ada,
      body: planted,
      headers: { __proto__: 'x', constructor: 'x' },
    })
  for (const path of ['/api/private/login', '/api/private/logout'])
    await ask(hub, path, {
      body: planted,
      headers: { cookie: '__proto__=1; constructor=2; muster=__proto__' },
    })
  await ask(hub, '/readyz?__proto__[isAdmin]=1')
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  const { isAdmin } = await ada.invoke('users_GetDetails', { userId: ada.userId })
  expect(isAdmin).toBe(false)
  const refused = await ask(hub, '/api/v1/actions/invoke/users_Query', { as: ada, body: planted })
  expect(refused.status).toBe(403)
})

it('refuses an upgrade of a browser, because the gateway accepts no cookies', async () => {
  for (const origin of ['https://evil.example', hub.url]) {
    const { answer, closed } = await opened(
      `GET /api/v1/connect/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
        `Origin: ${origin}\r\nCookie: ${ada.cookie}\r\n\r\n`,
    )
    await closed
    expect(answer()).toMatch(/^HTTP\/1\.1 401 [\s\S]*"no bearer token"/)
  }
})

it('refuses the live stream to pages of other sites', async () => {
  const headers = { cookie: ada.cookie, origin: 'https://evil.example' }
  expect((await ask(hub, '/api/v1/live', { headers })).status).toBe(403)
  await until('no stream is open', () => hub.live.subscriberCount === 0)
})
