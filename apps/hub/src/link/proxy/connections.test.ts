import { once } from 'node:events'
import { Agent, type ClientRequest } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LinkOptions } from '@muster/link'
import {
  connectDevice,
  type DevicePage,
  devicePage,
  forwardLocally,
  socketOf,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const FINE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
/** The hub's limit of requests in flight to one port of a device. */
const IN_FLIGHT = 8
/** The hub's limit of requests that wait for one port of a device. */
const WAITING = 128

let hub: TestHub
let page: DevicePage
/** Connections to the device's server, the requests that it got, and its behaviour for each new connection. */
const connections = new Set<Socket>()
let asked: string[] = []
let serve: (socket: Socket) => void
const app = createServer(socket => {
  connections.add(socket)
  socket.on('close', () => connections.delete(socket)).on('error', () => {})
  socket.setEncoding('latin1').on('data', text => {
    for (const [, line] of String(text).matchAll(/([A-Z]+ \/\S*) HTTP/g)) asked.push(line!)
  })
  serve(socket)
})

beforeAll(async () => {
  hub = await testHub()
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  asked = []
  await once(app.listen(0, '127.0.0.1'), 'listening')
  page = await devicePage(hub, app)
})
afterEach(async () => {
  await page[Symbol.asyncDispose]()
  await crash()
})

/** Closes the device's server and its connections as a crash would. */
async function crash(): Promise<void> {
  if (!app.listening) return
  const closed = once(app, 'close')
  app.close()
  for (const socket of connections) socket.destroy()
  await closed
}

type PageAnswer = { status: number | undefined; title: string | undefined }

async function ask(
  path: string,
  options: object = {},
  body?: (outgoing: ClientRequest) => void,
): Promise<PageAnswer> {
  const answer = await page.ask(path, { agent: false, ...options }, body)
  const text = Buffer.concat(await answer.toArray()).toString()
  return { status: answer.statusCode, title: /<title>(.*)<\/title>/.exec(text)?.[1] }
}

/** Uses up all connections to the device's port with requests that stay in flight. */
async function holdAll(): Promise<Promise<PageAnswer>[]> {
  const held = Array.from({ length: IN_FLIGHT }, () => ask('/held'))
  await until('the device has received them', () => asked.length === IN_FLIGHT)
  return held
}

/** Connects a device that handles channel requests with `onRequest`. Also returns the headers of a browser with access to its page. */
async function customDevice(onRequest: NonNullable<LinkOptions['onRequest']>) {
  const { owner, token } = await hub.fleet()
  const device = await connectDevice({ url: hub.url, token, link: { onRequest } })
  await until('the hub has registered it', () => hub.devices.get(device.deviceId) !== undefined)
  const { port } = app.address() as AddressInfo
  const { jwt, url } = await owner.invoke('devices_IssueHttpProxyToken', { deviceId: device.deviceId, port })
  return { device, headers: { host: new URL(url).host, cookie: `muster-device=${jwt}` } }
}

describe('requests to one port of a device', () => {
  it('share a few connections, even if each takes long to open', async () => {
    serve = socket => socket.on('data', () => setTimeout(() => socket.write(FINE), 20))
    let opened = 0
    const { device, headers } = await customDevice(wish => {
      opened++
      setTimeout(() => forwardLocally(wish), 100)
    })
    await using _ = device
    const answers = await Promise.all(Array.from({ length: 60 }, (_at, n) => ask(`/${n}`, { headers })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(opened).toBe(IN_FLIGHT)
  })

  it('get 503 when too many wait, and stop waiting when their browser disconnects', async () => {
    let isAwake = false
    serve = socket => socket.on('data', () => isAwake && socket.write(FINE))
    const held = await holdAll()
    const waiting: ClientRequest[] = []
    const wait = (path: string): Promise<PageAnswer> =>
      ask(path, {}, outgoing => waiting.push(outgoing.end())).catch(() => ({ status: 0, title: 'left' }))
    const answers = Array.from({ length: WAITING + 1 }, () => wait('/left'))
    expect(await Promise.race(answers)).toEqual({ status: 503, title: 'Too many requests' })
    for (const outgoing of waiting) outgoing.destroy()
    await Promise.all(answers)
    const next = wait('/next')
    // The next request still waits: the disconnected requests were only queued, so they free no connection.
    expect(await Promise.race([next, sleep(500, 'waits')])).toBe('waits')
    isAwake = true
    for (const socket of connections) socket.write(FINE)
    expect(await next).toMatchObject({ status: 200 })
    expect(new Set((await Promise.all(held)).map(({ status }) => status))).toEqual(new Set([200]))
    expect(asked).not.toContain('GET /left')
  })

  it('get 503 when the device has no free channel', async () => {
    const { device, headers } = await customDevice(() => {})
    await using _ = device
    const session = hub.devices.get(device.deviceId)!
    // Requests more channels than the link may open and queue, so that the page request below finds no free channel.
    for (let n = 0; n < 300; n++) session.open('forward/tcp/1').catch(() => {})
    expect(await ask('/', { headers })).toEqual({ status: 503, title: 'Too many requests' })
  })

  it('get an error when the device disconnects, even if they are still waiting', async () => {
    serve = () => {}
    const all = await holdAll()
    for (let n = 0; n < 3; n++) all.push(ask('/waiting'))
    all.push(ask('/waiting', { method: 'POST' }))
    // When this request is answered, all earlier ones are in flight or queued.
    expect(await ask('/', { headers: { host: 'none.localhost' } })).toMatchObject({ status: 421 })
    await page.device[Symbol.asyncDispose]()
    for (const answer of await Promise.all(all))
      expect(answer).toEqual({ status: 503, title: 'The device is not connected' })
  })

  it('get an error when the service crashes, and are not sent to the restarted service', async () => {
    serve = () => {}
    const all = await holdAll()
    for (let n = 0; n < 3; n++) all.push(ask('/waiting', { method: 'POST' }))
    expect(await ask('/', { headers: { host: 'none.localhost' } })).toMatchObject({ status: 421 })
    const { port } = app.address() as AddressInfo
    await crash()
    for (const answer of await Promise.all(all)) expect(answer.status).toBe(502)
    asked = []
    serve = socket => socket.on('data', () => socket.write(FINE))
    await once(app.listen(port, '127.0.0.1'), 'listening')
    expect(await ask('/fresh')).toMatchObject({ status: 200 })
    expect(asked).toEqual(['GET /fresh'])
  })
})

describe('a reused connection that the device closes as the next request arrives', () => {
  /** Answers the first request of each connection. At the second request, sends `bytes` and closes the connection. */
  const endAfter = (bytes: string) => (socket: Socket) =>
    socket.once('data', () => {
      socket.write(FINE)
      socket.once('data', () => socket.end(bytes))
    })

  it.each(['GET', 'HEAD', 'OPTIONS'])('makes the hub repeat a safe request: %s', async method => {
    serve = endAfter('')
    expect(await ask('/one')).toMatchObject({ status: 200 })
    expect(await ask('/two', { method })).toMatchObject({ status: 200 })
    expect(asked).toEqual(['GET /one', `${method} /two`, `${method} /two`])
  })

  it.each(['POST', 'PUT', 'DELETE'])('fails a request that is not safe: %s', async method => {
    serve = endAfter('')
    expect(await ask('/one')).toMatchObject({ status: 200 })
    expect(await ask('/two', { method })).toMatchObject({ status: 502 })
    expect(asked).toEqual(['GET /one', `${method} /two`])
  })

  it('fails the request when the answer had begun', async () => {
    serve = endAfter('HTTP/1.1 200')
    expect(await ask('/one')).toMatchObject({ status: 200 })
    expect(await ask('/two')).toMatchObject({ status: 502 })
    expect(asked).toEqual(['GET /one', 'GET /two'])
  })

  it('fails the request when the second connection is closed too', async () => {
    serve = endAfter('')
    expect(await ask('/one')).toMatchObject({ status: 200 })
    serve = socket => socket.once('data', () => socket.end())
    expect(await ask('/two')).toMatchObject({ status: 502 })
    expect(asked).toEqual(['GET /one', 'GET /two', 'GET /two'])
  })
})

it.each([0, 300])(
  'forwards the answer of a service that aborts an upload %s ms later',
  async breaksAfterMs => {
    const { device, headers } = await customDevice(wish => {
      const channel = wish.accept()
      void channel.read().then(async () => {
        // The upload of 32 MiB exceeds the receive window of the channel, so the hub has not sent all of it yet. `cork` joins the
        // response and the end of the channel in one write if the pause is 0 ms.
        const socket = socketOf(device.webSocket)
        socket.cork()
        channel.tryWrite(Buffer.from('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'))
        if (breaksAfterMs > 0) socket.uncork()
        await sleep(breaksAfterMs)
        channel.close()
        socket.uncork()
      })
    })
    await using _ = device
    const bytes = Buffer.alloc(32 * 1024 * 1024)
    // Uploads on a keep-alive connection, as browsers do.
    const agent = new Agent({ keepAlive: true })
    const upload = { headers: { ...headers, 'content-length': bytes.length }, method: 'POST', agent }
    let sent: Promise<unknown> | undefined
    const received = ask('/', upload, outgoing => {
      sent = once(outgoing.end(bytes), 'finish')
    })
    expect(await received).toMatchObject({ status: 413 })
    // Browsers show the response only after the upload is complete.
    await sent
    agent.destroy()
  },
)

it.each([true, false])(
  'survives a device that disconnects as it switches protocols (requested by the browser: %s)',
  async isAskedFor => {
    const { device, headers } = await customDevice(wish => {
      const channel = wish.accept()
      void channel.read().then(() => {
        // The device's last bytes arrive together with the end of its link.
        const socket = socketOf(device.webSocket)
        socket.cork()
        channel.tryWrite(
          Buffer.from('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
        )
        setTimeout(() => {
          device.link.close('bye')
          socket.uncork()
        }, 20)
      })
    })
    await using _ = device
    const browser = connect(hub.address.port, '127.0.0.1').setEncoding('latin1')
    let received = ''
    browser.on('data', text => {
      received += text
    })
    const upgrade = isAskedFor ? 'Connection: Upgrade\r\nUpgrade: websocket\r\n' : ''
    browser.write(`GET / HTTP/1.1\r\nHost: ${headers.host}\r\nCookie: ${headers.cookie}\r\n${upgrade}\r\n`)
    await once(browser, 'close')
    // The browser gets exactly one response head, whether or not it requested the switch.
    expect(received).toMatch(isAskedFor ? /^HTTP\/1\.1 (101|50\d) / : /^HTTP\/1\.1 502 /)
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1)
  },
)
