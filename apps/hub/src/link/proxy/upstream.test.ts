import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import type { TlsOptions } from 'node:tls'
import {
  connectDevice,
  type DevicePage,
  deviceIdentity,
  devicePage,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'

const BYTES = randomBytes(3_000_000)

let hub: TestHub
let page: DevicePage
let certificate: { cert: string; key: string }
const servers = new Set<TcpServer>()
const sockets = new Set<Socket>()

beforeAll(async () => {
  hub = await testHub()
  const { certificatePem, keyPem } = await deviceIdentity()
  certificate = { cert: certificatePem, key: keyPem! }
  page = await devicePage(hub, await listening(createServer(application)))
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

async function listening<Kind extends TcpServer>(server: Kind): Promise<Kind> {
  servers.add(server)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

const application: RequestListener = (request, response) => {
  if (request.method === 'POST') request.pipe(response)
  else if (request.url === '/bytes') response.end(BYTES)
  else response.end(`hello ${request.url}`)
}

function secure(options: TlsOptions = {}): Promise<Server> {
  return listening(createHttpsServer({ ...certificate, ...options }, application))
}

/** A service that answers TLS with the alert `handshake_failure`, and plain HTTP with that alert or nothing. */
function alerting(alerts: 'AlsoPlain' | 'TlsOnly'): Promise<TcpServer> {
  const alert = Buffer.from('15030300020228', 'hex')
  return listening(
    createTcpServer(socket =>
      socket.once('data', bytes =>
        bytes[0] === 22 || alerts === 'AlsoPlain' ? socket.end(alert) : socket.end(),
      ),
    ),
  )
}

type Link = { host: string; cookie: string; port: number }

/** Issues a link to a port of a device. */
async function linkTo(
  port: number,
  protocol?: 'http' | 'https',
  { owner, deviceId } = { owner: page.owner, deviceId: page.device.deviceId },
): Promise<Link> {
  const input = { deviceId, port, ...(protocol && { protocol }) }
  const { url, jwt } = await owner.invoke('devices_IssueHttpProxyToken', input)
  return { host: new URL(url).host, cookie: `muster-device=${jwt}`, port }
}

async function linkToServer(server: TcpServer, protocol?: 'http' | 'https'): Promise<Link> {
  return linkTo((server.address() as AddressInfo).port, protocol)
}

async function bytesOf(answer: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await answer.toArray())
}

/** Status and text of the answer to a request without a body. */
async function ask({ host, cookie }: Link, path = '/'): Promise<{ status: number; text: string }> {
  const answer = await page.ask(path, { headers: { host, cookie } })
  return { status: answer.statusCode!, text: (await bytesOf(answer)).toString() }
}

describe('D5: a service of a device that speaks HTTPS', () => {
  it('D5: is shown by a link with https, whatever its certificate, with bodies in both directions', async () => {
    const link = await linkToServer(await secure(), 'https')
    expect(await ask(link, '/path?x=1')).toEqual({ status: 200, text: 'hello /path?x=1' })
    const headers = { host: link.host, cookie: link.cookie }
    const down = await page.ask('/bytes', { headers })
    expect((await bytesOf(down)).equals(BYTES)).toBe(true)
    const up = await page.ask('/', { method: 'POST', headers }, outgoing => outgoing.end(BYTES))
    expect((await bytesOf(up)).equals(BYTES)).toBe(true)
    const many = await Promise.all(Array.from({ length: 30 }, (_, n) => ask(link, `/${n}`)))
    expect(many.map(({ text }) => text)).toEqual(many.map((_, n) => `hello /${n}`))
  })

  it('D5: is shown by a link with https if it has TLS of old versions only', async () => {
    const old = await secure({
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    })
    expect(await ask(await linkToServer(old, 'https'))).toEqual({ status: 200, text: 'hello /' })
  })

  it('D5: gets WebSockets by a link with https, and frees its channels', async () => {
    const server = await secure()
    new WebSocketServer({ server }).on('connection', socket =>
      socket.on('message', data => socket.send(data)),
    )
    const { host, cookie } = await linkToServer(server, 'https')
    const before = page.device.link.channelCount
    const socket = new WebSocket(`ws://127.0.0.1:${hub.address.port}/`, { headers: { host, cookie } })
    await once(socket, 'open')
    socket.send(BYTES.subarray(0, 500_000))
    const [echo] = (await once(socket, 'message')) as [Buffer]
    expect(echo.equals(BYTES.subarray(0, 500_000))).toBe(true)
    socket.close()
    await once(socket, 'close')
    await until('its channel is closed', () => page.device.link.channelCount <= before)
  })

  it('D5: is cut off by a link with https when its device disconnects', async () => {
    const server = await listening(
      createHttpsServer(certificate, (_request, response) => response.write('begun')),
    )
    await using other = await devicePage(hub, server)
    const { port } = server.address() as AddressInfo
    const { host, cookie } = await linkTo(port, 'https', {
      owner: other.owner,
      deviceId: other.device.deviceId,
    })
    const answer = await page.ask('/', { headers: { host, cookie } })
    expect(String((await once(answer, 'data'))[0])).toBe('begun')
    answer.on('error', () => {})
    other.device.webSocket.terminate()
    await until('the answer has ended', () => answer.destroyed)
    expect(answer.complete).toBe(false)
  })

  it('D5: is named, with an offer of https, by the page of a link with plain HTTP', async () => {
    // Node's server closes the connection without a byte. Others send an alert first, or refuse TLS as well.
    for (const server of [await secure(), await alerting('AlsoPlain'), await alerting('TlsOnly')]) {
      const link = await linkToServer(server)
      const { status, text } = await ask(link, '/a?b="<c>&d')
      expect(status).toBe(502)
      expect(text).toContain('This port expects HTTPS')
      const [, href, label] = /<a href="([^"<]+)">([^<]+)<\/a>/.exec(text)!
      expect(label).toBe(`Open port ${link.port} with HTTPS`)
      const url = new URL(href!.replaceAll('&amp;', '&'))
      const { organizationId, projectId } = hub.devices.get(page.device.deviceId)!
      expect(url.origin + url.pathname + url.hash).toBe(
        `${hub.publicUrl}/${organizationId}/projects/${projectId}/devices/${page.device.deviceId}#web`,
      )
      expect(Object.fromEntries(url.searchParams)).toEqual({
        port: String(link.port),
        protocol: 'https',
        path: '/a?b="<c>&d',
      })
    }
  })

  it('D5: is said to refuse HTTPS if it ends the handshake with an alert', async () => {
    const { status, text } = await ask(await linkToServer(await alerting('TlsOnly'), 'https'))
    expect(status).toBe(502)
    expect(text).toContain('The device refused HTTPS')
  })
})

describe('D5: the page of a link says what happened', () => {
  it.each([
    [
      'a port that refuses',
      'local TCP forwarding target is unavailable',
      502,
      'no service accepts connections',
    ],
    [
      'a port that does not answer',
      'local TCP forwarding target timed out',
      504,
      'No service accepted the connection',
    ],
    ['an agent without forwards', 'unknown endpoint', 502, 'The device forwards no ports'],
  ])('D5: at %s', async (_case, reason, status, text) => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({
      url: hub.url,
      token,
      link: { onRequest: wish => wish.reject(reason) },
    })
    const { deviceId } = device
    await until('the hub knows it', () => hub.devices.get(deviceId) !== undefined)
    const answer = await ask(await linkTo(8080, undefined, { owner, deviceId }))
    expect(answer).toEqual({ status, text: expect.stringContaining(text) })
  })

  it('D5: at a service that closes the connection', async () => {
    const closing = await listening(createTcpServer(socket => socket.once('data', () => socket.end())))
    for (const protocol of ['http', 'https'] as const) {
      const { status, text } = await ask(await linkToServer(closing, protocol))
      expect(status).toBe(502)
      expect(text).toContain('The connection to this port ended before an answer began')
    }
  })

  it('D5: at a service that speaks plain HTTP, with an offer of http, by a link with https', async () => {
    const link = await linkToServer(await listening(createServer(application)), 'https')
    const { status, text } = await ask(link)
    expect(status).toBe(502)
    expect(text).toContain('This port does not speak HTTPS')
    expect(text).toContain(`Open port ${link.port} with HTTP<`)
    expect(text).toContain(`port=${link.port}&amp;protocol=http#web`)
  })
})
