import { readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { capturedLog, type TestHub, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { createOperator } from './operator.ts'
import { loadOperatorToken } from './operator-token.ts'

const TOKEN = 'an-operator-token-of-32-characters'

let hub: TestHub
const captured = capturedLog('info')

beforeAll(async () => {
  hub = await testHub({ operatorPort: 0, operatorToken: TOKEN }, captured.log)
})
afterAll(() => hub[Symbol.asyncDispose]())

type Asked = {
  port?: number | undefined
  path?: string
  method?: string
  headers?: Record<string, string | undefined>
}

/** Sends a request to the operator listener, with the right token unless `headers` replace it. */
function ask({ port = hub.operatorPort, path = '/health', method = 'GET', headers = {} }: Asked = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const all = { host: 'localhost', authorization: `Bearer ${TOKEN}`, ...headers }
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  request({ host: '127.0.0.1', port, path, method, headers: sent }, response => {
    let body = ''
    response.setEncoding('utf8').on('data', (part: string) => {
      body += part
    })
    response.on('end', () => resolve({ status: response.statusCode!, body }))
  })
    .on('error', reject)
    .end()
  return promise
}

describe('the operator listener', () => {
  it.each<[string, Asked, number, string]>([
    ['no token', { headers: { authorization: undefined } }, 401, 'operator token'],
    ['a wrong token', { headers: { authorization: `Bearer ${TOKEN}x` } }, 401, 'operator token'],
    ['the token as a password', { headers: { authorization: `Basic ${TOKEN}` } }, 401, 'operator token'],
    [
      'the token in the query',
      { path: `/health?token=${TOKEN}`, headers: { authorization: undefined } },
      401,
      'operator token',
    ],
    [
      'an unknown path without the token',
      { path: '/x', headers: { authorization: undefined } },
      401,
      'token',
    ],
    ['a forwarding header', { headers: { 'x-forwarded-for': '10.0.0.1' } }, 403, 'x-forwarded-for'],
    ['the header of a proxy', { headers: { via: '1.1 proxy' } }, 403, 'must not be published'],
    ['the standard forwarding header', { headers: { forwarded: 'for=10.0.0.1' } }, 403, 'forwarded'],
    ['another host', { headers: { host: 'attacker.example' } }, 421, 'MUSTER_HOSTS'],
    ['another method', { method: 'POST' }, 405, 'GET'],
  ])('refuses a request with %s', async (_case, asked, status, text) => {
    const answer = await ask({ path: '/metrics', ...asked })
    expect(answer.status).toBe(status)
    expect(answer.body).toContain(text)
    expect(answer.body).not.toContain('muster_')
  })

  it('logs refusals without the token that was sent', async () => {
    await ask({ headers: { authorization: 'Bearer a-secret-of-another-system' } })
    const lines = captured.named('request of an operator refused')
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThanOrEqual(10)
    expect(JSON.stringify(captured.lines)).not.toContain('a-secret-of-another-system')
  })

  it.each(['127.0.0.1', '[::1]', 'localhost:9464', '10.1.2.3'])('answers under the host %s', async host => {
    expect((await ask({ headers: { host } })).status).toBe(200)
  })

  it('answers 404 to unknown paths with the token', async () => {
    const answer = await ask({ path: '/' })
    expect(answer).toEqual({ status: 404, body: 'Expected one of the paths /metrics, /health.\n' })
    expect((await ask({ path: '/constructor' })).status).toBe(404)
  })

  it('answers HEAD without a body', async () => {
    expect(await ask({ method: 'HEAD' })).toEqual({ status: 200, body: '' })
  })

  it('makes a token for its account only, and keeps it', async () => {
    const token = await loadOperatorToken(hub.dataDir, undefined)
    const path = join(hub.dataDir, 'operator-token')
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await loadOperatorToken(hub.dataDir, undefined)).toBe(token)
    expect((await readFile(path, 'utf8')).trim()).toBe(token)
    await writeFile(path, 'short')
    await expect(loadOperatorToken(hub.dataDir, undefined)).rejects.toThrow('expected 64 hexadecimal digits')
  })
})

describe('a hub that starts', () => {
  it('answers its state, and metrics without the values that are not known yet', async () => {
    const config = { ...loadConfig({}), operatorPort: 0, operatorToken: TOKEN }
    await using operator = await createOperator({
      config,
      instanceKey: () => Buffer.alloc(32),
      health: async () => ({ state: 'starting', isReady: false, reasons: [] }),
      log: captured.log,
    })
    await operator.listen()
    const { port } = operator.server.address() as AddressInfo
    const health = await ask({ port })
    expect(health).toEqual({ status: 503, body: '{"state":"starting","isReady":false,"reasons":[]}\n' })
    const { body } = await ask({ port, path: '/metrics' })
    expect(body).toContain('muster_health{state="starting"} 1')
    expect(body).toContain('muster_ready 0')
    expect(body).not.toContain('muster_connected_devices')
  })
})

describe('/health', () => {
  it('is ready, or degraded with the part and the reason', async () => {
    expect(JSON.parse((await ask()).body)).toEqual({ state: 'ready', isReady: true, reasons: [] })
    hub.readiness.degrade('disk', 'little space')
    const degraded = await ask()
    hub.readiness.restore('disk')
    expect(degraded.status).toBe(200)
    expect(JSON.parse(degraded.body)).toEqual({
      state: 'degraded',
      isReady: true,
      reasons: [{ part: 'disk', reason: 'little space' }],
    })
  })
})
