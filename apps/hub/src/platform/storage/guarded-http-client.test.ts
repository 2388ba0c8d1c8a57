import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AddressRefused, GuardedHttpClient } from './guarded-http-client.ts'

let requests = 0
const server = createServer((request, response) => {
  requests++
  request.resume().once('end', () => {
    if (request.url === '/silent') return
    if (request.url === '/elsewhere') response.writeHead(302, { location: '/' })
    response.end(request.headers.host)
  })
})
let port: number

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const get = (http: GuardedHttpClient, url: string) =>
  http.request(new URL(url), { method: 'GET', headers: {}, signal: AbortSignal.timeout(20_000) })

it('resolves a name once and connects to the checked address, even if DNS changes', async () => {
  const answers = ['127.0.0.2', '127.0.0.1']
  let lookUps = 0
  // The test needs a local server, so the loopback address 127.0.0.2 stands for a public address.
  const http = new GuardedHttpClient(['127.0.0.2'], {
    lookUp: async () => [{ address: answers[lookUps++]!, family: 4 }],
  })
  const before = requests
  // The first address is allowed but has no listener. The second address has a listener and is not allowed.
  await expect(get(http, `http://rebinding.example:${port}/`)).rejects.toThrow('ECONNREFUSED 127.0.0.2')
  expect([lookUps, requests]).toEqual([1, before])
  await expect(get(http, `http://rebinding.example:${port}/`)).rejects.toThrow(AddressRefused)
  expect(requests).toBe(before)
})

it('refuses a name if any of its addresses is not public', async () => {
  const http = new GuardedHttpClient([], {
    lookUp: async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '::ffff:127.0.0.1', family: 6 },
    ],
  })
  await expect(get(http, `http://mixed.example:${port}/`)).rejects.toThrow(/not a public address/)
})

it('connects to allowed networks with the original host name, and follows no redirect', async () => {
  const http = new GuardedHttpClient(['127.0.0.0/8'], {
    lookUp: async () => [{ address: '127.0.0.1', family: 4 }],
  })
  const answer = await get(http, `http://store.example:${port}/elsewhere`)
  expect(answer.statusCode).toBe(302)
  expect((await answer.toArray()).join('')).toBe(`store.example:${port}`)
  await expect(get(http, 'http://[fe80::1]/')).rejects.toThrow(AddressRefused)
})

it('times out when the server is silent, but not when its own body pauses', async () => {
  const timeoutMs = 300
  const http = new GuardedHttpClient('everything', { timeoutMs })
  const put = (path: string, pauseMs: number) =>
    http.request(new URL(`http://127.0.0.1:${port}${path}`), {
      method: 'PUT',
      headers: { 'content-length': '10' },
      signal: AbortSignal.timeout(20_000),
      send: async write => {
        await write(Buffer.alloc(5))
        await sleep(pauseMs)
        await write(Buffer.alloc(5))
      },
    })
  // On a busy machine the server may answer late once. If the pause counted, no attempt would succeed.
  await expect.poll(() => put('/', 4 * timeoutMs).then(({ statusCode }) => statusCode, String)).toBe(200)
  await expect(put('/silent', 0)).rejects.toMatchObject({
    code: 'ETIMEDOUT',
    message: 'received no data for 0.3 s',
  })
})

it('S9: refuses a public address of the own machine or of a denied network', async () => {
  const lookUp = async () => [{ address: '93.184.216.34', family: 4 }]
  const own = () => ['127.0.0.1', '93.184.216.34']
  const myself = new GuardedHttpClient([], { lookUp, own })
  await expect(get(myself, 'http://myself.example/')).rejects.toThrow(AddressRefused)
  const denied = new GuardedHttpClient(['93.184.216.0/24'], { lookUp, denied: ['93.184.216.34'] })
  await expect(get(denied, 'http://balancer.example/')).rejects.toThrow(AddressRefused)
})

it('S16: throws the same error for an unknown name and for a private address', async () => {
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
  const lookUps = [async () => Promise.reject(unknown), async () => [{ address: '10.1.2.3', family: 4 }]]
  const texts = await Promise.all(
    lookUps.map(lookUp => get(new GuardedHttpClient([], { lookUp }), 'http://name.example/').catch(String)),
  )
  expect(texts[0]).toMatch(/AddressRefused: The endpoint has no address or one that is not a public address/)
  expect(texts[1]).toBe(texts[0])
})
