import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { newId } from '@muster/actions'
import { capturedLog, connectDevice, deviceHeaders, deviceIdentity, testHub, until } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'

const PROXY_SECRET = 'sixteen letters!'

const { log, lines } = capturedLog()
const hub = await testHub({ trustedProxies: ['127.0.0.1'], proxySecret: PROXY_SECRET }, log)
afterAll(() => hub[Symbol.asyncDispose]())

/** Sends an upgrade request that appears to come from `address`, and returns its refusal. */
async function refused(address: string, headers: Record<string, string>) {
  const asked = request(`${hub.url}/api/v1/connect/ws`, {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'x-forwarded-for': address,
      'x-muster-proxy-secret': PROXY_SECRET,
      ...headers,
    },
  }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  return {
    status: response.statusCode,
    headers: response.headers,
    body: JSON.parse(Buffer.concat(chunks).toString()) as { kind: string },
  }
}

it('answers a flood of refused connections with 429, does not log it, and admits valid devices meanwhile', async () => {
  const { owner, projectId, token } = await hub.fleet()
  const waiting = await hub.token(owner, projectId, false)
  const identity = await deviceIdentity()
  const headers = deviceHeaders({ url: hub.url, token: waiting.token }, identity)
  const from = (address: string) => ({ 'x-forwarded-for': address, 'x-muster-proxy-secret': PROXY_SECRET })

  const unknownToken = () => refused('192.0.2.1', { authorization: `Bearer ${newId('deployment')}` })
  const answers = []
  for (let count = 0; count < 100; count++)
    answers.push(count < 50 ? await refused('192.0.2.1', headers) : await unknownToken())
  const startedMs = performance.now()
  answers.push(...(await Promise.all(Array.from({ length: 100 }, unknownToken))))
  const statuses = answers.map(({ status }) => status)
  expect(new Set(statuses.slice(0, 50))).toEqual(new Set([403]))
  expect(new Set(statuses.slice(50, 100))).toEqual(new Set([401]))
  expect(new Set(statuses.slice(100))).toEqual(new Set([429]))
  // The hub delays responses with 429 by 1 s, which slows down a client that reconnects in a loop.
  expect(performance.now() - startedMs).toBeGreaterThan(900)
  const last = answers.at(-1)!
  expect(last.body.kind).toBe('RateLimited')
  expect(Number(last.headers['retry-after'])).toBeGreaterThan(0)
  expect(Number(last.headers['retry-after'])).toBeLessThanOrEqual(60)

  await refused('192.0.2.1', headers)
  expect(lines.filter(({ msg }) => msg === 'connection refused')).toHaveLength(100)
  const known = await until('the first refusals are recorded', async () => {
    const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
    const found = tokens.find(({ tokenId }) => tokenId === waiting.tokenId)
    return found?.lastRefusal?.count === 50 && found.lastRefusal
  })
  expect(known.reason).toBe('certificate is pending')

  await using device = await connectDevice({ url: hub.url, token, headers: from('192.0.2.1') })
  expect(device.deviceId).toMatch(/^d_/)
  expect((await refused('192.0.2.2', headers)).status).toBe(403)
})

it('counts upgrade requests for other paths as well, so that they cannot fill the log', async () => {
  const before = lines.length
  const statusOf = async () => {
    const asked = request(`${hub.url}/elsewhere`, {
      headers: { connection: 'Upgrade', upgrade: 'websocket' },
    }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  const statuses = new Set(await Promise.all(Array.from({ length: 110 }, statusOf)))
  expect(statuses).toEqual(new Set([404, 429]))
  expect(lines.slice(before).filter(({ msg }) => msg === 'connection refused')).toHaveLength(100)
})

it('answers further refused connections at once while 500 answers are delayed', async () => {
  const address = '192.0.2.3'
  const unknownToken = () => refused(address, { authorization: `Bearer ${newId('deployment')}` })
  await Promise.all(Array.from({ length: 100 }, unknownToken))
  const statuses = await Promise.all(Array.from({ length: 600 }, async () => (await unknownToken()).status))
  expect(new Set(statuses)).toEqual(new Set([429]))
})
