import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import {
  auditEvents,
  connectDevice,
  type FakeDevice,
  forwardLocally,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { hostLabel } from './hosts.ts'

const DOWNLOAD = randomBytes(24 * 1024 * 1024)

let hub: TestHub
let owner: TestUser
let organizationId: string
let token: string
let device: FakeDevice
let app: Server
let port: number
/** The last request as the device's web application got it. */
let seen: { headers: IncomingHttpHeaders; url: string }

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, token } = await hub.fleet())
  app = createServer(application)
  new WebSocketServer({ server: app, path: '/socket' }).on('connection', socket =>
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
  )
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  port = (app.address() as AddressInfo).port
  device = await connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  app.closeAllConnections()
  app.close()
})

/** The device's web application. */
function application(incoming: IncomingMessage, response: ServerResponse): void {
  seen = { headers: incoming.headers, url: incoming.url! }
  const url = new URL(incoming.url!, 'http://app')
  if (url.pathname === '/download') {
    response.writeHead(200, { 'content-length': DOWNLOAD.length, 'accept-ranges': 'bytes' })
    response.end(incoming.method === 'HEAD' ? undefined : DOWNLOAD)
  } else if (url.pathname === '/upload') {
    const hash = createHash('sha256')
    incoming
      .on('data', (chunk: Buffer) => hash.update(chunk))
      .on('end', () => response.end(hash.digest('hex')))
  } else if (url.pathname === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: first\n\n')
    url.searchParams.has('end') && response.end()
  } else if (url.pathname === '/login') {
    response.writeHead(302, {
      location: '/home',
      'set-cookie': ['sid=1; Path=/; Domain=.localhost; HttpOnly', 'lang=en'],
      connection: 'X-Private',
      'x-private': 'yes',
      'x-accel-redirect': '/api/v1/blobs/1',
      'x-accel-expires': '3600',
      'x-accel-buffering': 'no',
      'clear-site-data': '"cookies"',
    })
    response.end()
  } else if (url.pathname === '/moved') {
    response.writeHead(301, { location: url.search.slice(1), 'content-location': url.search.slice(1) }).end()
  } else if (url.pathname === '/silent') {
    // Requests to this path never get a response.
  } else response.end(`you asked ${incoming.method} ${incoming.url}`)
}

type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer; text: string }

/** Sends a request to the hub's port with another `Host`, as browsers do: names below localhost resolve to this machine. */
function ask(
  host: string,
  path: string,
  { body, ...options }: RequestOptions & { body?: Buffer | string } = {},
): Promise<Answer> {
  return new Promise((done, failed) => {
    const outgoing = request(
      {
        port: hub.address.port,
        host: '127.0.0.1',
        path,
        ...options,
        headers: { host: `${host}:${hub.address.port}`, ...options.headers },
      },
      answer => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', failed)
        answer.on('end', () => {
          const whole = Buffer.concat(chunks)
          done({
            status: answer.statusCode!,
            headers: answer.headers,
            body: whole,
            text: whole.subarray(0, 10_000).toString(),
          })
        })
      },
    )
    outgoing.on('error', failed)
    outgoing.end(body)
  })
}

type Link = { host: string; path: string; cookie: string }

/** Issues a link to the device's port and opens the link once. */
async function opened(options: object = {}, by = owner): Promise<Link> {
  const { url } = await by.invoke('devices_IssueHttpProxyToken', {
    deviceId: device.deviceId,
    port,
    ...options,
  })
  const { hostname: host, pathname, search } = new URL(url)
  const answer = await ask(host, pathname + search)
  expect(answer.status).toBe(303)
  return { host, path: pathname + search, cookie: answer.headers['set-cookie']![0]!.split(';')[0]! }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe('a link to a device', () => {
  it("leads to the device's own host, which moves the token from the URL into a cookie", async () => {
    const { url, jwt } = await owner.invoke('devices_IssueHttpProxyToken', {
      deviceId: device.deviceId,
      port,
    })
    const { hostname, search, host } = new URL(url)
    expect(hostname).toBe(`${hostLabel(device.deviceId, port)}.localhost`)
    expect(host).toBe(`${hostname}:${hub.address.port}`)
    expect(search).toContain(jwt)
    const answer = await ask(hostname, `/${search}&page=2`)
    expect(answer).toMatchObject({
      status: 303,
      headers: { location: '/?page=2', 'referrer-policy': 'no-referrer' },
    })
    const cookie = answer.headers['set-cookie']![0]!
    expect(cookie).toMatch(/^muster-device=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=7\d\d\d$/)
    expect(cookie).not.toContain('Domain')
  })

  it('S18: removes the cookies and client headers of the hub from forwarded requests', async () => {
    const { host, cookie } = await opened()
    const answer = await ask(host, '/some/page?x=1', {
      headers: {
        // Browsers send the hub's own cookies too if a cookie domain covers both hosts.
        cookie: `a=1; ${cookie}; muster=x; muster-known=y; __Host-muster=z; b=2; my-muster=3`,
        'x-forwarded-for': '6.6.6.6',
        'x-client-cert': 'forged',
        'x-custom': 'yes',
      },
    })
    expect(answer).toMatchObject({ status: 200, text: 'you asked GET /some/page?x=1' })
    for (const name of ['content-security-policy', 'x-frame-options', 'permissions-policy'])
      expect(answer.headers[name]).toBeUndefined()
    expect(seen.headers).toMatchObject({
      cookie: 'a=1; b=2; my-muster=3',
      'x-custom': 'yes',
      'x-forwarded-proto': 'http',
    })
    expect(seen.headers['x-forwarded-for']).toBeUndefined()
    expect(seen.headers['x-client-cert']).toBeUndefined()
  })

  it('is valid for at most two hours and issued to members only', async () => {
    const { url } = await owner.invoke('devices_IssueHttpProxyToken', {
      deviceId: device.deviceId,
      validForSecs: 31_536_000,
    })
    const [, claims] = new URL(url).searchParams.get('muster_token')!.split('.')
    const { exp } = JSON.parse(Buffer.from(claims!, 'base64url').toString())
    expect(exp - Date.now() / 1000).toBeLessThanOrEqual(7_200)
    expect((await auditEvents(hub, 'devices_PortForwarded')).at(-1)).toMatchObject({
      action: 'devices_IssueHttpProxyToken',
      deviceId: device.deviceId,
      data: { port: 80, hostname: new URL(url).hostname, validForSecs: 7_200 },
    })
    const outsider = await hub.user({ isAdmin: true })
    await expect(
      outsider.invoke('devices_IssueHttpProxyToken', { deviceId: device.deviceId }),
    ).rejects.toMatchObject({ kind: 'Forbidden' })
  })
})

describe('a web application on a device', () => {
  it('can redirect and set cookies only for its own host', async () => {
    const { host, cookie } = await opened()
    const answer = await ask(host, '/login', { headers: { cookie } })
    expect(answer).toMatchObject({ status: 302, headers: { location: '/home' } })
    expect(answer.headers['set-cookie']).toEqual(['sid=1; Path=/; HttpOnly', 'lang=en'])
    expect(answer.headers['x-private']).toBeUndefined()
    // A device must not control caching or file sending in a proxy in front of the hub. It may control buffering.
    expect(answer.headers['x-accel-redirect']).toBeUndefined()
    expect(answer.headers['x-accel-expires']).toBeUndefined()
    expect(answer.headers['x-accel-buffering']).toBe('no')
    // The header could clear the console's cookies if console and device page are below one registrable domain.
    expect(answer.headers['clear-site-data']).toBeUndefined()
  })

  it('has redirects to itself rewritten to its origin, and other redirects unchanged', async () => {
    const { host, cookie } = await opened()
    const to = async (location: string) => {
      const { headers } = await ask(host, `/moved?${location}`, { headers: { cookie } })
      expect(headers['content-location']).toBe(headers.location)
      return headers.location
    }
    const own = `http://${host}:${hub.address.port}`
    expect(await to(`http://${host}:18099/dir/?x=http://${host}/`)).toBe(`${own}/dir/?x=http://${host}/`)
    expect(await to(`https://${host}/dir`)).toBe(`${own}/dir`)
    expect(await to(`HTTP://${host.toUpperCase()}`)).toBe(own)
    for (const other of [
      `http://${host}.example/`,
      `http://${host}:80@evil.example/`,
      'https://muster.example:8080/',
      '/dir/',
    ])
      expect(await to(other)).toBe(other)
  })

  it('gets uploads and sends downloads and HEAD answers unchanged', async () => {
    const { host, cookie } = await opened()
    const up = await ask(host, '/upload', { method: 'POST', headers: { cookie }, body: DOWNLOAD })
    expect(up.text).toBe(sha256(DOWNLOAD))
    const chunked = await ask(host, '/upload', {
      method: 'PUT',
      headers: { cookie, 'transfer-encoding': 'chunked' },
      body: 'in pieces',
    })
    expect(chunked.text).toBe(sha256(Buffer.from('in pieces')))
    const down = await ask(host, '/download', { headers: { cookie } })
    expect(sha256(down.body)).toBe(sha256(DOWNLOAD))
    const head = await ask(host, '/download', { method: 'HEAD', headers: { cookie } })
    expect(head).toMatchObject({ status: 200, headers: { 'content-length': String(DOWNLOAD.length) } })
    expect(head.body).toHaveLength(0)
  }, 60_000)

  it('answers more concurrent requests than a device forwards at once', async () => {
    const { host, cookie } = await opened()
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => ask(host, `/page/${n}`, { headers: { cookie } })),
    )
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_, n) => `you asked GET /page/${n}`))
  })

  it('sends server-sent events without delay', async () => {
    const { host, cookie } = await opened()
    const outgoing = request({
      port: hub.address.port,
      host: '127.0.0.1',
      path: '/events',
      headers: { host, cookie },
    }).end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const [chunk] = (await once(answer, 'data')) as [Buffer]
    expect(chunk.toString()).toBe('data: first\n\n')
    outgoing.destroy()
  })

  it('can use all connections for WebSockets, which free them when they close', async () => {
    const { host, cookie } = await opened()
    const open = async (): Promise<WebSocket> => {
      const socket = new WebSocket(`ws://127.0.0.1:${hub.address.port}/socket`, {
        headers: { host, cookie, origin: `http://${host}` },
      })
      await once(socket, 'open')
      return socket
    }
    for (let round = 0; round < 3; round++) {
      const sockets = await Promise.all(Array.from({ length: 7 }, open))
      expect(await ask(host, '/', { headers: { cookie } })).toMatchObject({ status: 200 })
      for (const socket of sockets) socket.close()
      await Promise.all(sockets.map(socket => once(socket, 'close')))
    }
    // Each WebSocket uses a channel of the device's link, and the number of channels is limited.
    const all = await Promise.all(Array.from({ length: 16 }, open))
    expect(await ask(host, '/', { headers: { cookie } })).toMatchObject({
      status: 503,
      text: expect.stringContaining('Too many requests'),
    })
    for (const socket of all) socket.close()
    await Promise.all(all.map(socket => once(socket, 'close')))
  }, 60_000)

  it('can use a WebSocket', async () => {
    const { host, cookie } = await opened()
    const socket = new WebSocket(`ws://127.0.0.1:${hub.address.port}/socket`, {
      headers: { host: `${host}:${hub.address.port}`, cookie, origin: `http://${host}:${hub.address.port}` },
    })
    await once(socket, 'open')
    const big = randomBytes(1_000_000)
    socket.send(big)
    const [echo] = (await once(socket, 'message')) as [Buffer]
    expect(sha256(echo)).toBe(sha256(big))
    socket.close()
    await once(socket, 'close')
  })

  it('gets bytes that a client sends together with its upgrade request', async () => {
    const { host, cookie } = await opened()
    const socket = connect(hub.address.port, '127.0.0.1')
    const head = [
      'GET /socket HTTP/1.1',
      `Host: ${host}`,
      `Cookie: ${cookie}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ]
    // A masked text frame "hi" with a zero mask.
    const frame = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
    socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), frame]))
    let received = Buffer.alloc(0)
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
    })
    await until('the echo arrives', () => received.includes(Buffer.from([0x81, 2, 0x68, 0x69])))
    expect(received.subarray(received.indexOf('\r\n\r\n') + 4)).toHaveLength(4)
    socket.destroy()
  })
})

describe('access to a device', () => {
  it('under an unknown host is answered with an error page', async () => {
    for (const host of ['nothing.localhost', `${'a'.repeat(50)}.localhost`, 'a.b.localhost']) {
      const answer = await ask(host, '/')
      expect(answer).toMatchObject({ status: 421, headers: { 'content-type': 'text/html; charset=utf-8' } })
      expect(answer.text).toContain('No device here')
    }
    expect((await ask('localhost', '/healthz')).status).toBe(200)
  })

  it('is refused without a token, with a forged one and with one for another host', async () => {
    const { host, cookie } = await opened()
    const other = await opened({ hostname: 'gate.localhost' })
    expect(other.host).toBe('gate.localhost')
    const [, name, jwt] = /^([^=]+)=(.*)$/.exec(cookie)!
    const [head, claims] = jwt!.split('.')
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`
    for (const bad of ['', 'junk', none, `${head}.${claims}.AAAA`, other.cookie.split('=')[1]])
      expect((await ask(host, '/', { headers: { cookie: `${name}=${bad}` } })).status, bad).toBe(401)
    expect((await ask(host, '/?muster_token=junk')).status).toBe(401)
    expect((await ask('gate.localhost', '/', { headers: { cookie } })).status).toBe(401)
  })

  it('is refused under a host name of another device, even if its links have expired', async () => {
    const { projectId } = hub.devices.get(device.deviceId)!
    const { token } = await hub.token(owner, projectId)
    const other = await connectDevice({ url: hub.url, token })
    const choose = (deviceId: string, hostname: string) =>
      owner.invoke('devices_IssueHttpProxyToken', { deviceId, hostname })
    await choose(other.deviceId, 'kept.localhost')
    await hub.db.deleteFrom('proxy_token').where('device_id', '=', other.deviceId).execute()
    await expect(choose(device.deviceId, 'kept.localhost')).rejects.toMatchObject({
      kind: 'Invalid',
      message: 'hostname: another device has this name.',
    })
    for (let n = 1; n < 16; n++) await choose(other.deviceId, `kept-${n}.localhost`)
    await expect(choose(other.deviceId, 'kept-16.localhost')).rejects.toThrow('16 names already')
    await choose(other.deviceId, 'kept-15.localhost')
    // Inserts a name beyond the limit, as if the device had it from a time without the limit.
    await hub.db
      .insertInto('proxy_host')
      .values({ hostname: 'kept-17.localhost', device_id: other.deviceId })
      .execute()
    for (const n of [1, 17]) await choose(other.deviceId, `kept-${n}.localhost`)
    await expect(choose(other.deviceId, 'kept-16.localhost')).rejects.toThrow('16 names already')
    await owner.invoke('devices_Delete', { deviceId: other.deviceId })
    await choose(device.deviceId, 'kept.localhost')
  })

  it('is refused to requests from the page of another device', async () => {
    const { host, cookie } = await opened()
    const from = (site: string, mode: string, method = 'GET', place = 'document') =>
      ask(host, '/', {
        method,
        headers: { cookie, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': place },
      })
    expect((await from('same-site', 'cors')).status).toBe(403)
    expect((await from('cross-site', 'no-cors')).status).toBe(403)
    expect((await from('cross-site', 'navigate', 'POST')).status).toBe(403)
    expect((await from('same-site', 'navigate', 'GET', 'iframe')).status).toBe(403)
    expect((await from('same-origin', 'navigate', 'GET', 'iframe')).status).toBe(200)
    // Over plain HTTP, browsers send `Origin` but no `Sec-Fetch-Site`.
    const by = (origin: string) => ask(host, '/', { method: 'POST', headers: { cookie, origin } })
    for (const origin of ['http://evil.localhost', 'null']) expect((await by(origin)).status).toBe(403)
    expect((await by(`http://${host}:${hub.address.port}`)).status).toBe(200)
    for (const [site, mode] of [
      ['same-origin', 'cors'],
      ['none', 'navigate'],
      ['cross-site', 'navigate'],
    ] as const)
      expect((await from(site, mode)).status).toBe(200)
    const socket = new WebSocket(`ws://127.0.0.1:${hub.address.port}/socket`, {
      headers: { host: `${host}:${hub.address.port}`, cookie, origin: 'http://evil.localhost' },
    })
    const [error] = (await once(socket, 'error')) as [Error]
    expect(error.message).toContain('403')
  })

  it('is refused to a service worker, which would answer the next link in place of the hub', async () => {
    const { host, cookie } = await opened()
    const answer = await ask(host, '/worker.js', { headers: { cookie, 'service-worker': 'script' } })
    expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('No service workers here') })
    expect(seen.url).not.toBe('/worker.js')
  })

  it('ends with the session, the membership, the device and the expiry of the link', async () => {
    const friend = await hub.user()
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: friend.userId })
      .execute()
    const statusOf = async ({ host, cookie }: Link) => (await ask(host, '/', { headers: { cookie } })).status
    const bySession = await opened({}, friend)
    const again = await opened({}, friend)
    expect(await statusOf(bySession)).toBe(200)
    await hub.db.deleteFrom('organization_member').where('user_id', '=', friend.userId).execute()
    expect(await statusOf(bySession)).toBe(401)
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: friend.userId })
      .execute()
    expect(await statusOf(again)).toBe(200)
    const { port: hubPort } = hub.address
    const socket = new WebSocket(`ws://127.0.0.1:${hubPort}/socket`, {
      headers: { host: `${again.host}:${hubPort}`, cookie: again.cookie },
    })
    await once(socket, 'open')
    const ended = once(socket, 'close')
    // The session has expired, but its row still exists.
    await hub.db
      .updateTable('session')
      .set({ expires_at: new Date(0) })
      .where('user_id', '=', friend.userId)
      .execute()
    expect(await statusOf(again)).toBe(401)
    await ended
    await hub.db.deleteFrom('session').where('user_id', '=', friend.userId).execute()
    expect(await statusOf(again)).toBe(401)

    await using gone = await connectDevice({
      url: hub.url,
      token,
      link: { onRequest: forwardLocally },
    })
    const ofGone = await opened({ deviceId: gone.deviceId })
    expect(await statusOf(ofGone)).toBe(200)
    await owner.invoke('devices_Delete', { deviceId: gone.deviceId })
    // The host name now belongs to no device.
    expect(await statusOf(ofGone)).toBe(421)

    const redirect = `${hub.publicUrl}/org_x`
    const late = await opened({ redirect })
    await hub.db
      .updateTable('proxy_token')
      .set({ expires_at: new Date(0) })
      .execute()
    expect(await statusOf(late)).toBe(401)
    const expired = await ask(late.host, late.path)
    expect(expired).toMatchObject({ status: 303, headers: { location: redirect } })
    await expect(opened({ redirect: 'https://evil.example/' })).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it.each([
    ['/漢字/ä?q=ß#ö', '/%E6%BC%A2%E5%AD%97/%C3%A4?q=%C3%9F#%C3%B6'],
    ['/a b\r\nx-evil: 1', '/a%20bx-evil:%201'],
    ['/\ud83d\ude00\u007f\u0001.', '/%F0%9F%98%80%7F%01.'],
  ])('by an expired link redirects to %j, percent-encoded', async (redirect, location) => {
    const late = await opened({ redirect: `${hub.publicUrl}${redirect}` })
    await hub.db
      .updateTable('proxy_token')
      .set({ expires_at: new Date(0) })
      .execute()
    expect(await ask(late.host, late.path)).toMatchObject({
      status: 303,
      headers: { location: `${hub.publicUrl}${location}` },
    })
  })
})

describe('a request to a device', () => {
  it('gets different errors for a closed port, a service without HTTP and an offline device', async () => {
    const closed = await opened({ port: 1 })
    expect(await ask(closed.host, '/', { headers: { cookie: closed.cookie } })).toMatchObject({ status: 502 })

    const nonsense = createTcpServer(socket => socket.end('I am no web server\r\n\r\n')).listen(
      0,
      '127.0.0.1',
    )
    await once(nonsense, 'listening')
    const strange = await opened({ port: (nonsense.address() as AddressInfo).port })
    const answer = await ask(strange.host, '/', { headers: { cookie: strange.cookie } })
    expect(answer.status).toBe(502)
    expect(answer.text).toContain('does not speak HTTP')
    nonsense.close()

    const fleet = await hub.fleet()
    const gone = await connectDevice({ url: hub.url, token: fleet.token })
    const { url } = await fleet.owner.invoke('devices_IssueHttpProxyToken', { deviceId: gone.deviceId })
    await gone[Symbol.asyncDispose]()
    await until('the hub has noticed it', () => hub.devices.get(gone.deviceId) === undefined)
    const { hostname, search } = new URL(url)
    const cookie = (await ask(hostname, `/${search}`)).headers['set-cookie']![0]!.split(';')[0]!
    const offline = await ask(hostname, '/', { headers: { cookie } })
    expect(offline.status).toBe(503)
    expect(offline.text).toContain('not connected')
  })

  it('for a refused upgrade closes the connection, even if the client keeps its half open', async () => {
    const socket = connect({ port: hub.address.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 421 /)
    await until('the connection is reset', () => {
      socket.write('x')
      return socket.destroyed
    })
  })

  it('frees its channel when the browser disconnects', async () => {
    const { host, cookie } = await opened()
    const before = device.link.channelCount
    const outgoing = request({
      port: hub.address.port,
      host: '127.0.0.1',
      path: '/silent',
      headers: { host, cookie },
    })
    outgoing.on('error', () => {})
    outgoing.end()
    await until('the device has the request', () => seen.url === '/silent')
    outgoing.destroy()
    await until('its channel is closed', () => device.link.channelCount <= before)
  })
})

it('refuses a request whose end the device could see elsewhere', async () => {
  const { host, cookie } = await opened()
  const socket = connect(hub.address.port, '127.0.0.1')
  socket.write(
    `POST /upload HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  )
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /)
  socket.destroy()
  expect(seen.url).not.toBe('/smuggled')
})

it('issues no link on a public hub without a proxy domain', async () => {
  await using far = await testHub({
    publicUrl: 'https://hub.example',
    proxyDomain: undefined,
    allowPlaintextDevices: true,
  })
  const fleet = await far.fleet()
  await using connected = await connectDevice({ url: far.url, token: fleet.token })
  const { deviceId } = connected
  for (const input of [{ deviceId }, { deviceId, hostname: 'a.localhost' }])
    await expect(fleet.owner.invoke('devices_IssueHttpProxyToken', input)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('MUSTER_PROXY_DOMAIN'),
    })
})
