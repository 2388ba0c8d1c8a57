import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { type DevicePage, devicePage, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let page: DevicePage
const app = createServer((request, response) => response.end(`cookies: ${request.headers.cookie ?? 'none'}`))

beforeAll(async () => {
  hub = await testHub()
  await once(app.listen(0, '127.0.0.1'), 'listening')
  page = await devicePage(hub, app)
})
afterAll(async () => {
  await page[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  app.close()
})

/** Sends a head in parts, each when the one before has left, and resolves to everything that the hub answers. */
const answerTo = (...parts: string[]) => answerOver(hub.address.port, ...parts)

async function answerOver(
  port: number,
  ...parts: string[]
): Promise<{ status: number; type: string; removed: string[]; text: string }> {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  socket.on('error', () => {})
  let received = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    received += piece
  })
  for (const part of parts) {
    if (socket.writable) await new Promise<unknown>(done => socket.write(part, done))
  }
  await until('the hub has answered', () => /\r\n\r\n[\s\S]*(<\/html>|\})/.test(received) || socket.destroyed)
  socket.destroy()
  return {
    status: Number(/^HTTP\/1.1 (\d+)/.exec(received)?.[1]),
    type: /\r\ncontent-type: ([^;\r]*)/i.exec(received)?.[1] ?? '',
    removed: [...received.matchAll(/\r\nset-cookie: ([^\r]*)/gi)].map(([, line]) => line!),
    text: received.slice(received.indexOf('\r\n\r\n') + 4),
  }
}

const large = (name: string): string => `${name}=${'x'.repeat(4000)}`
const cookies = (count: number): string =>
  Array.from({ length: count }, (_, n) => large(`evil${n}`)).join('; ')

describe('S35: a request that is too large because of cookies for all devices', () => {
  it('is answered with a page that says so and removes them, but not the hub’s own', async () => {
    const head = `GET /settings/net?x=1 HTTP/1.1\r\nHost: ${page.host}\r\nCookie: ${page.cookie}; ${cookies(8)}\r\n\r\n`
    const { status, type, removed, text } = await answerTo(head)
    expect([status, type]).toEqual([431, 'text/html'])
    expect(text).toContain('Too many cookies')
    expect(text).toContain('They have been removed.')
    for (let n = 0; n < 4; n++)
      expect(removed).toEqual(
        expect.arrayContaining([
          `evil${n}=; Path=/; Max-Age=0`,
          `evil${n}=; Path=/; Max-Age=0; Domain=localhost`,
          `evil${n}=; Path=/settings/net; Max-Age=0; Domain=localhost`,
        ]),
      )
    expect(removed.join()).not.toContain('muster')
    // Without these cookies the same page is shown again.
    const answer = await page.ask('/settings/net?x=1', { headers: { cookie: page.cookie } })
    expect(answer.statusCode).toBe(200)
  })

  it('is answered so also when the begin of the head has arrived before, as in TLS records', async () => {
    const begin = `GET / HTTP/1.1\r\nHost: ${page.host}\r\nCookie: ${page.cookie}; ${cookies(3)}`
    const { status, removed } = await answerTo(begin, `; ${cookies(60)}\r\n\r\n`)
    expect(status).toBe(431)
    expect(removed).toContain('evil1=; Path=/; Max-Age=0; Domain=localhost')
    expect(removed.join()).not.toContain('muster')
  })

  it('removes cookies for the domains above the proxy domain, which a page may set as well', async () => {
    await using other = await testHub({ proxyDomain: 'devices.fleet.example.com' })
    const head = `GET / HTTP/1.1\r\nHost: any.devices.fleet.example.com\r\nCookie: ${cookies(8)}\r\n\r\n`
    const { status, removed } = await answerOver(other.address.port, head)
    expect(status).toBe(431)
    expect(removed.filter(line => line.startsWith('evil0='))).toEqual([
      'evil0=; Path=/; Max-Age=0',
      'evil0=; Path=/; Max-Age=0; Domain=devices.fleet.example.com',
      'evil0=; Path=/; Max-Age=0; Domain=fleet.example.com',
      'evil0=; Path=/; Max-Age=0; Domain=example.com',
    ])
  })

  it.each([
    [
      'for the hub itself',
      (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookies(8)}\r\n\r\n`,
      'localhost',
    ],
    [
      'without cookies',
      (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\nX-A: ${'x'.repeat(40_000)}\r\n\r\n`,
      '',
    ],
  ])('is answered as before %s', async (_what, head, host) => {
    const { status, type, removed, text } = await answerTo(head(host || page.host))
    expect([status, type]).toEqual([431, 'application/json'])
    expect(text).toContain('The headers are too large.')
    expect(removed).toEqual([])
  })
})
