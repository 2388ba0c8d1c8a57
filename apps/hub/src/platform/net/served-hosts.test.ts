import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import {
  connectDevice,
  type DevicePage,
  devicePage,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const INVOKE = '/api/v1/actions/invoke'
const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
]

let hub: TestHub
let ada: TestUser
let userToken: string

beforeAll(async () => {
  hub = await testHub({
    publicUrl: 'http://hub.example',
    hosts: ['hub.internal', '192.168.1.7', '[fd00::7]'],
    allowPlaintextDevices: true,
  })
  ada = await hub.user()
  userToken = await hub.userToken(ada)
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Sends a raw HTTP request with these header lines and returns the response. */
async function raw(first: string, lines: string[], body = ''): Promise<{ status: number; text: string }> {
  const socket = connect(hub.address.port, '127.0.0.1').setEncoding('utf8')
  let text = ''
  socket.on('data', chunk => {
    text += chunk
    // After an accepted upgrade the hub does not close the connection.
    if (text.startsWith('HTTP/1.1 101')) socket.destroy()
  })
  const length = body ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []
  const close = lines.includes(UPGRADE[0]!) ? [] : ['Connection: close']
  socket.write(`${[`${first} HTTP/1.1`, ...close, ...lines, ...length].join('\r\n')}\r\n\r\n${body}`)
  await once(socket, 'close')
  return { status: Number(text.split(' ')[1]), text }
}

const HTML = 'Accept: text/html'
const read = `POST ${INVOKE}/actor_GetActor`
const live = 'GET /api/v1/live'
const list = 'GET /api/v1/export/organizations_Query.csv'

describe('S13: under a foreign host', () => {
  it.each([
    'evil.example',
    'evil.example:6878',
    'hub.example.evil.example',
    'xhub.example',
    '192.168.1.8',
    '127.0.0.1.evil.example',
    'hub.example@evil.example',
    '',
    '/',
  ])('answers 421 for console, private routes and calls with the cookie: %j', async host => {
    const lines = [`Host: ${host}`]
    const cookie = [...lines, `Cookie: ${ada.cookie}`, `Origin: http://${host}`]
    const credentials = JSON.stringify({ email: ada.email, password: ada.password })
    for (const { status, text } of [
      await raw('GET /', [...lines, HTML]),
      await raw('GET /login', lines),
      await raw('GET /nothing', lines),
      await raw('GET /assets/nothing.js', lines),
      await raw('GET /api/config.json', lines),
      await raw('GET /api/docs', lines),
      await raw('POST /api/private/login', [...lines, `Origin: http://${host}`], credentials),
      await raw('POST /api/private/login', [...lines, 'Authorization: Bearer x'], credentials),
      await raw('POST /api/private/logout', cookie),
      await raw(read, cookie, '{}'),
      await raw(live, cookie),
      await raw(list, cookie),
    ]) {
      expect(status, text).toBe(421)
      expect(text).toContain('MUSTER_HOSTS')
      expect(text).toContain('hub.example')
      expect(text.toLowerCase()).not.toContain('set-cookie')
    }
  })

  it('answers browsers with a page that names the setting and escapes the host', async () => {
    const { status, text } = await raw('GET /', ['Host: <script>alert(1)</script>', HTML])
    expect(status).toBe(421)
    expect(text).toContain('content-type: text/html')
    expect(text).toContain('MUSTER_HOSTS')
    expect(text).not.toContain('<script')
  })

  it('answers 200 for health routes, calls with a bearer token and calls without the cookie', async () => {
    const lines = ['Host: evil.example']
    for (const { status, text } of [
      await raw('GET /healthz', lines),
      await raw('GET /readyz?x', lines),
      await raw(read, [...lines, `Authorization: Bearer ${userToken}`], '{}'),
      await raw(read, [...lines, `Authorization: Bearer ${userToken}`, `Cookie: ${ada.cookie}`], '{}'),
      await raw(list, [...lines, `Authorization: Bearer ${userToken}`]),
      await raw(read, lines, '{}'),
    ])
      expect(status, text).toBe(200)
  })

  it('accepts devices', async () => {
    const { token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token, headers: { host: 'evil.example' } })
    expect(device.deviceId).toMatch(/^d_/)
  })
})

it.each([
  'hub.example',
  'HUB.example:1234',
  'hub.internal',
  '192.168.1.7:80',
  '[fd00::7]',
  'localhost:80',
  '127.0.0.1',
  '127.1.2.3:6878',
  '[::1]:6878',
])('S13: accepts %s as a host of the hub', async host => {
  const { status } = await raw(read, [`Host: ${host}`, `Cookie: ${ada.cookie}`], '{}')
  expect(status).toBe(200)
})

describe('S13: two Host headers are answered 400', () => {
  let server: Server
  let page: DevicePage
  let local: TestHub
  let requestCount = 0
  beforeAll(async () => {
    local = await testHub()
    server = createServer((_request, response) => {
      requestCount++
      response.end('hello')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    page = await devicePage(local, server)
  })
  afterAll(async () => {
    await page[Symbol.asyncDispose]()
    await local[Symbol.asyncDispose]()
    server.close()
  })

  it.each([
    ['for the hub', 'GET /healthz', ['Host: localhost', 'Host: localhost']],
    ['in different case', 'GET /healthz', ['Host: localhost', 'hOST: evil.example']],
    ['for an upgrade', 'GET /api/v1/connect/ws', ['Host: localhost', 'Host: localhost', ...UPGRADE]],
  ])('%s', async (_what, first, lines) => {
    const { status, text } = await raw(first, lines)
    expect(status).toBe(400)
    expect(text).toContain('Found more than one Host header, expected one.')
  })

  it('for a device page, without a request to the device', async () => {
    const port = local.address.port
    const answers = [HTML, ...[UPGRADE.join('\r\n')]].map(async more => {
      const socket = connect(port, '127.0.0.1').setEncoding('utf8')
      socket.write(
        `GET / HTTP/1.1\r\nHost: ${page.host}\r\nHost: evil.example\r\nCookie: ${page.cookie}\r\n${more}\r\n\r\n`,
      )
      const [text] = (await once(socket, 'data')) as [string]
      socket.destroy()
      return text.split(' ')[1]
    })
    expect(await Promise.all(answers)).toEqual(['400', '400'])
    expect(requestCount).toBe(0)
    expect((await page.ask('/')).statusCode).toBe(200)
  })
})
