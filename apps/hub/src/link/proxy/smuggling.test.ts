import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'
import { type DevicePage, devicePage, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let page: DevicePage
let app: Server
/** The bytes that reached the device's server, and the response that it sends to every request. */
let arrived = ''
let answer = ''
const FINE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

beforeAll(async () => {
  hub = await testHub()
  app = createServer(socket => {
    socket.setEncoding('latin1').on('data', text => {
      arrived += text
      socket.write(answer, 'latin1')
    })
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  page = await devicePage(hub, app)
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  app.close()
})

/** Sends a request to the hub, with `HOST` replaced by the host and cookie of the device's page. Resolves to all bytes received. */
async function exchange(request: string): Promise<string> {
  arrived = ''
  const socket = connect(hub.address.port, '127.0.0.1').setEncoding('latin1')
  let received = ''
  socket.on('data', text => {
    received += text
  })
  socket.on('error', () => {})
  const ended = new Promise<void>(done => socket.once('close', () => done()))
  socket.write(request.replace('HOST', `Host: ${page.host}\r\nCookie: ${page.cookie}`), 'latin1')
  await until('the hub answered', () => received.includes('\r\n\r\n') || socket.destroyed)
  // If the hub read part of the request as a second request, the response to that part would precede the response to this request.
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  await ended
  return received
}

describe('an ambiguous request', () => {
  it.each([
    [
      'a length and chunked encoding',
      'POST / HTTP/1.1\r\nHOST\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'two Transfer-Encoding headers',
      'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
    ],
    ['an unknown encoding', 'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    [
      'chunked that is not the last encoding',
      'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nHOST\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n'],
    ['a signed length', 'POST / HTTP/1.1\r\nHOST\r\nContent-Length: +0\r\n\r\n'],
    ['a list of lengths', 'POST / HTTP/1.1\r\nHOST\r\nContent-Length: 0, 0\r\n\r\n'],
    ['a space before the colon', 'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['a folded header', 'POST / HTTP/1.1\r\nHOST\r\nX-A: b\r\n Content-Length: 44\r\n\r\n'],
    [
      'a folded encoding',
      'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n',
    ],
    ['bare line feeds', 'POST / HTTP/1.1\nHOST\nContent-Length: 0\n\n'],
    ['a bare line feed between headers', 'POST / HTTP/1.1\r\nHOST\r\nX-A: b\nContent-Length: 44\r\n\r\n'],
    ['a bare carriage return', 'POST / HTTP/1.1\r\nHOST\r\nX-A: b\rContent-Length: 44\r\n\r\n'],
    ['a zero byte', 'POST / HTTP/1.1\r\nHOST\r\nX-A: b\0c\r\n\r\n'],
    [
      'a chunk without its end',
      'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naXX\r\n0\r\n\r\n',
    ],
    [
      'a chunk of negative length',
      'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n0\r\n\r\n',
    ],
    [
      'a chunk of too large a length',
      `POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n${'f'.repeat(17)}\r\n`,
    ],
    [
      'a chunk ended by a bare line feed',
      'POST / HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n',
    ],
    [
      'a length that Connection lists',
      'GET / HTTP/1.1\r\nHOST\r\nConnection: keep-alive, content-length\r\nContent-Length: 32\r\n\r\n',
    ],
    [
      'an upgrade with a body',
      'POST / HTTP/1.1\r\nHOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 32\r\n\r\n',
    ],
  ])('does not let bytes after it reach the device as a request: %s', async (_what, request) => {
    answer = FINE
    const received = await exchange(`${request}GET /smuggled HTTP/1.1\r\nHOST\r\n\r\n`)
    expect(received).not.toContain('ok')
    expect(arrived).not.toContain('/smuggled')
    // A device may respond before the request has ended. The early response must not be used for another request.
    expect(received === '' || /^HTTP\/1\.1 (4\d\d|50\d) /.test(received), received.slice(0, 200)).toBe(true)
  })

  it('is forwarded with each cookie once, even if it has several Cookie headers', async () => {
    answer = FINE
    await exchange('GET /cookies HTTP/1.1\r\nHOST\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n')
    expect(arrived.match(/a=1|b=2|muster-device/g)).toEqual(['a=1', 'b=2'])
  })

  it('is forwarded with cookies that have no name', async () => {
    answer = FINE
    await exchange('GET /cookies HTTP/1.1\r\nHOST\r\nCookie: signed-in; =b;c=\r\n\r\n')
    expect(arrived).toContain('\r\nCookie: signed-in; =b; c=\r\n')
  })

  it.each([
    ['a length that Connection lists', 'Connection: content-length\r\nContent-Length: 0'],
    ['a host that Connection lists', 'Connection: Host'],
    ['a cookie that Connection lists', 'Connection: close,COOKIE'],
    ['a second encoding before chunked', 'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n'],
  ])('is refused and not forwarded: %s', async (_what, headers) => {
    answer = FINE
    expect(await exchange(`POST / HTTP/1.1\r\nHOST\r\n${headers}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
    expect(arrived).toBe('')
  })

  it.each(['POST', 'PUT', 'PROPFIND'])('without a body is forwarded with a length of 0: %s', async method => {
    answer = FINE
    await exchange(`${method} /none HTTP/1.1\r\nHOST\r\n\r\n`)
    expect(arrived).toMatch(/\r\nContent-Length: 0\r\n/)
    expect(arrived).not.toMatch(/Transfer-Encoding/i)
    expect(arrived.endsWith('\r\n\r\n')).toBe(true)
  })

  it('is not one with plain chunked encoding, which is forwarded without extensions and trailers', async () => {
    answer = FINE
    const chunks = '3;name=value\r\nabc\r\n0\r\nX-Trailer: yes\r\n\r\n'
    const received = await exchange(
      `POST /chunks HTTP/1.1\r\nHOST\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    )
    expect(received).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(arrived).toContain('\r\n\r\n3\r\nabc\r\n0\r\n\r\n')
    expect(arrived).not.toMatch(/name=value|X-Trailer/i)
  })
})

describe('an ambiguous answer of a device', () => {
  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nevil'],
    ['a zero byte', 'HTTP/1.1 200 OK\r\nX-A: b\0c\r\nContent-Length: 2\r\n\r\nok'],
    ['a status below 100', 'HTTP/1.1 099 Low\r\nContent-Length: 2\r\n\r\nok'],
    ['no status', 'HTTP/1.1 000 None\r\nContent-Length: 2\r\n\r\nok'],
    [
      'an upgrade that was not requested',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nevil',
    ],
  ])('is reported as not HTTP: %s', async (_what, strange) => {
    answer = strange
    const received = await exchange('GET /page HTTP/1.1\r\nHOST\r\n\r\n')
    expect(received).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
    expect(received).toContain('does not speak HTTP')
    expect(received).not.toMatch(/evil/)
  })

  // Small devices send imprecise responses like these, and browsers accept them.
  it.each([
    ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', 'Content-Length: 2', '\r\n\r\nok'],
    [
      'line feeds in the headers of a CGI script',
      'HTTP/1.0 200 OK\r\nContent-type: text/html\nContent-Length: 2\n\nok',
      'Content-type: text/html',
      '\r\n\r\nok',
    ],
    [
      'a folded header',
      'HTTP/1.1 200 OK\r\nX-A: b\r\n Set-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok',
      'X-A: b Set-Cookie: evil=1',
      '\r\n\r\nok',
    ],
    [
      'D4: control characters in the head',
      'HTTP/1.1 200 O\x01K\r\nX-A: b\x7fc\rSet-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok',
      'X-A: b c Set-Cookie: evil=1',
      '\r\n\r\nok',
    ],
    [
      'a length and chunked encoding',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked',
      '\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    ],
  ])('is forwarded with a newly written head: %s', async (_what, strange, header, body) => {
    answer = strange
    const received = await exchange('GET /page HTTP/1.1\r\nHOST\r\n\r\n')
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(received).toContain(`\r\n${header}\r\n`)
    expect(received).toContain(body)
    expect(received).not.toMatch(/(?<!\r)\n/)
    expect(received.match(/\r\n(Content-Length|Transfer-Encoding):/gi)).toHaveLength(2)
  })

  it.each(['', 'Connection: close\r\n'])(
    'is complete after its length, and further bytes are dropped (%j)',
    async line => {
      answer = `HTTP/1.1 200 OK\r\n${line}Content-Length: 5\r\n\r\nhello beyond`
      expect(await exchange('GET /page HTTP/1.1\r\nHOST\r\n\r\n')).toMatch(/\r\n\r\nhelloHTTP\/1\.1 /)
      answer = FINE
      expect(await exchange('GET /next HTTP/1.1\r\nHOST\r\n\r\n')).toMatch(/\r\n\r\nokHTTP\/1\.1 /)
    },
  )

  it('may have a head of 100 kB, as browsers accept', async () => {
    const policy = 'p'.repeat(100_000)
    answer = `HTTP/1.1 200 OK\r\nX-Policy: ${policy}\r\nContent-Length: 2\r\n\r\nok`
    expect(await exchange('GET /page HTTP/1.1\r\nHOST\r\n\r\n')).toContain(policy)
  })

  it('does not add bytes after its end to another answer', async () => {
    answer = `${FINE}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`
    const received = await exchange('GET /page HTTP/1.1\r\nHOST\r\n\r\n')
    answer = FINE
    const next = await exchange('GET /next HTTP/1.1\r\nHOST\r\n\r\n')
    expect(received + next).not.toContain('evil')
  })

  it('keeps end-to-end headers even if Connection lists them', async () => {
    answer = `HTTP/1.1 200 OK\r\nConnection: Set-Cookie, X-A\r\nSet-Cookie: a=1\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok`
    const received = await exchange('GET /page HTTP/1.1\r\nHOST\r\n\r\n')
    expect(received).toContain('Set-Cookie: a=1')
    expect(received).not.toContain('X-A')
  })
})

describe('text in the head of an answer', () => {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'

  it.each(['', upgrade])('and of a request is forwarded byte by byte (%j)', async wish => {
    answer = 'HTTP/1.1 404 Fehlt f\xfcr\r\nX-Name: \xc3\xbc \xe9\r\nContent-Length: 2\r\n\r\nok'
    const received = await exchange(`GET /page HTTP/1.1\r\nHOST\r\nX-Name: \xc3\xbc \xe9\r\n${wish}\r\n`)
    expect(received).toMatch(/^HTTP\/1\.1 404 Fehlt f\xfcr\r\n/)
    expect(received).toContain('\r\nX-Name: \xc3\xbc \xe9\r\n')
    expect(arrived).toContain('\r\nX-Name: \xc3\xbc \xe9\r\n')
  })

  it.each(['', upgrade])('is replaced by the standard reason if it is invalid (%j)', async wish => {
    answer = 'HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok'
    const received = await exchange(`GET /page HTTP/1.1\r\nHOST\r\n${wish}\r\n`)
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })
})
