import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAX_ACTION_BODY_BYTES } from '@muster/actions'
import { type TestHub, type TestUser, testHub } from '@muster/testkit'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusePlainRequests } from '../../link/gateway/gateway.ts'
import { loadConfig } from '../config/config.ts'
import { createLog } from '../runtime/log.ts'
import { createServer } from './server.ts'

const INVOKE = '/api/v1/actions/invoke'
const EVIL = 'https://evil.example'

/** Headers of every answer. Only pages have a different Content-Security-Policy. */
const EVERYWHERE: Record<string, string> = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000',
}

const stack = new AsyncDisposableStack()
let hub: TestHub
let ada: TestUser
let app: FastifyInstance
let url: string

beforeAll(async () => {
  hub = stack.use(await testHub({ publicUrl: 'https://hub.example' }))
  ada = await hub.user()
  const folder = await mkdtemp(join(tmpdir(), 'muster-headers-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Muster</title>')
  await writeFile(join(folder, 'favicon.svg'), '<svg/>')
  await writeFile(join(folder, 'assets', 'app-1.js'), '')
  app = await createServer({
    config: loadConfig({ MUSTER_PUBLIC_URL: 'https://hub.example' }),
    instanceKey: () => Buffer.alloc(32),
    log: createLog('silent'),
    core: () => hub,
    publicUrl: () => 'https://hub.example',
    consoleDir: folder,
    agentFile: join(folder, 'favicon.svg'),
  })
  refusePlainRequests(app)
  stack.defer(() => app.close())
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => stack.disposeAsync())

/** Sends text on a raw socket and returns the head of the first response. */
async function headOf(text: string, at = url): Promise<{ status: number; headers: Headers }> {
  const socket = connect(Number(new URL(at).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.setEncoding('utf8')
  let answer = ''
  socket.write(text)
  while (!answer.includes('\r\n\r\n')) answer += String((await once(socket, 'data'))[0])
  socket.destroy()
  const [first, ...lines] = answer.slice(0, answer.indexOf('\r\n\r\n')).split('\r\n')
  const headers = lines.map(line => line.split(/: ?(.*)/s).slice(0, 2) as [string, string])
  return { status: Number(first!.split(' ')[1]), headers: new Headers(headers) }
}

/** Text of a request that a page of another site could make a browser send. */
function requestOf(method: string, path: string, lines: string[] = [], body = ''): string {
  const all = [
    `${method} ${path} HTTP/1.1`,
    'Host: hub.example',
    'Connection: close',
    `Origin: ${EVIL}`,
    ...lines,
  ]
  return `${all.join('\r\n')}\r\n\r\n${body}`
}

function expectHygiene({ headers }: { headers: Headers }): void {
  const policy = headers.get('content-security-policy')
  for (const [name, value] of Object.entries(EVERYWHERE)) {
    if (name !== 'content-security-policy') expect(headers.get(name), name).toBe(value)
  }
  const isPage = headers.get('content-type')?.startsWith('text/html')
  const isDownload = headers.has('content-disposition')
  if (isDownload) expect(policy).toBe("sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
  else expect(policy).toMatch(/^default-src '(none|self)'; .*base-uri 'none'; .*frame-ancestors 'none'$/)
  expect(policy).not.toContain('unsafe')
  if (!isPage && !isDownload) expect(policy).toBe(EVERYWHERE['content-security-policy'])
  expect(headers.get('permissions-policy')).toContain('camera=()')
  const names = [...headers.keys()]
  expect(names.filter(name => /^(server|x-powered-by|via)$|^access-control/.test(name))).toEqual([])
  // `content-disposition` is not checked: one of the downloads has "node" in its file name.
  const values = [...headers].flatMap(([name, value]) => (name === 'content-disposition' ? [] : [value]))
  expect(values.join('\n')).not.toMatch(/fastify|node|muster\//i)
}

/** Every route of the server, as method and pattern. */
function routes(): [method: string, pattern: string][] {
  const found: [string, string][] = []
  const open: string[] = []
  for (const line of app.printRoutes().split('\n')) {
    const [, indent, rest] = /^([│ ]*)[├└]── (.*)$/.exec(line) ?? []
    if (indent === undefined || rest === undefined) continue
    const [, part = '', methods] = /^(.*?)(?: \(([A-Z, ]+)\))?$/.exec(rest)!
    open.length = indent.length / 4
    open.push(part)
    for (const method of methods?.split(', ') ?? []) found.push([method, open.join('')])
  }
  return found
}

it('lists the routes of the server for the next test', () => {
  const patterns = routes().map(([, pattern]) => pattern)
  for (const known of [
    '/healthz',
    '/readyz',
    `${INVOKE}/:name`,
    '/api/v1/live',
    '/api/config.json',
    '/assets/*',
  ])
    expect(patterns).toContain(known)
})

it('sends the security headers on every route, with and without credentials', async () => {
  for (const [method, pattern] of routes()) {
    const path = pattern.replace(':name', 'actor_GetActor').replace(/:\w+/g, 'x').replace('*', 'app-1.js')
    for (const credentials of [[], [`Cookie: ${ada.cookie}`]]) {
      const body = method === 'POST' ? '{}' : ''
      const lines = body ? ['Content-Type: application/json', 'Content-Length: 2'] : []
      const answer = await headOf(requestOf(method, path, [...lines, ...credentials], body))
      expect(answer.status, `${method} ${path}`).toBeLessThan(500)
      expectHygiene(answer)
    }
  }
})

describe('the answer to', () => {
  const json = (length: number): string[] => ['Content-Type: application/json', `Content-Length: ${length}`]
  it.each<[what: string, status: number, text: () => string]>([
    ['a page', 200, () => requestOf('GET', '/org_x/projects?q=1')],
    ['a page with a JWT in its URL', 200, () => requestOf('GET', '/signup/verify?jwt=a.b.c')],
    ['a file', 200, () => requestOf('GET', '/favicon.svg')],
    ['an asset', 200, () => requestOf('GET', '/assets/app-1.js')],
    ['an unknown page', 404, () => requestOf('GET', '/metrics')],
    [
      'a foreign host',
      421,
      () => requestOf('GET', '/login').replace('Host: hub.example', 'Host: evil.example'),
    ],
    ['two Host headers', 400, () => requestOf('GET', '/login', ['Host: hub.example'])],
    ['an unknown asset', 404, () => requestOf('GET', '/assets/app-0.js')],
    ['a failed precondition', 412, () => requestOf('GET', '/assets/app-1.js', ['If-Match: "x"'])],
    ['an unsatisfiable range', 416, () => requestOf('GET', '/favicon.svg', ['Range: bytes=900-'])],
    ['an unknown API path', 404, () => requestOf('GET', '/api/nothing')],
    ['an unknown action', 404, () => requestOf('POST', `${INVOKE}/x`)],
    ['an action', 200, () => requestOf('POST', `${INVOKE}/actor_GetActor`)],
    ['an action without credentials', 401, () => requestOf('POST', `${INVOKE}/projects_Query`)],
    [
      'a cross-site write',
      403,
      () => requestOf('POST', `${INVOKE}/organizations_Create`, [`Cookie: ${ada.cookie}`]),
    ],
    ['an invalid input', 400, () => requestOf('POST', `${INVOKE}/actor_GetActor`, json(1), '[')],
    ['a method that is not allowed', 405, () => requestOf('DELETE', '/login')],
    ['TRACE', 405, () => requestOf('TRACE', '/login', ['Cookie: muster=x'])],
    ['a method that is not allowed in the API', 404, () => requestOf('PUT', '/api/private/login')],
    [
      'a preflight',
      405,
      () => requestOf('OPTIONS', `${INVOKE}/actor_GetActor`, ['Access-Control-Request-Method: POST']),
    ],
    [
      'a preflight of a page',
      405,
      () => requestOf('OPTIONS', '/', ['Access-Control-Request-Private-Network: true']),
    ],
    [
      'a body that is too large',
      413,
      () => requestOf('POST', `${INVOKE}/x`, json(MAX_ACTION_BODY_BYTES + 1)),
    ],
    [
      'a body of another type',
      415,
      () => requestOf('POST', `${INVOKE}/x`, ['Content-Type: text/plain', 'Content-Length: 1'], 'x'),
    ],
    [
      'a compressed body',
      415,
      () => requestOf('POST', `${INVOKE}/x`, [...json(2), 'Content-Encoding: gzip'], '{}'),
    ],
    ['a path that cannot be decoded', 400, () => requestOf('GET', '/%E0%A4%A')],
    ['a path parameter that is too long', 414, () => requestOf('POST', `${INVOKE}/${'x'.repeat(1_000)}`)],
    ['headers that are too large', 431, () => requestOf('GET', '/', [`X: ${'x'.repeat(20_000)}`])],
    ['text that is not HTTP', 400, () => 'hello\r\n\r\n'],
    ['a request without Host', 400, () => 'GET / HTTP/1.1\r\n\r\n'],
    ['an unknown Expect header', 417, () => requestOf('GET', '/', ['Expect: miracles'])],
    ['the live stream for another site', 403, () => requestOf('GET', '/api/v1/live')],
    ['the gateway without an upgrade', 426, () => requestOf('GET', '/api/v1/connect/ws')],
  ])('%s (%i) has the security headers', async (_what, status, text) => {
    const answer = await headOf(text())
    expect(answer.status).toBe(status)
    expectHygiene(answer)
  })

  it('a live stream has the security headers', async () => {
    const lines = [`Cookie: ${ada.cookie}`, 'Origin: https://hub.example']
    const text = requestOf('GET', '/api/v1/live', lines).replace(`Origin: ${EVIL}\r\n`, '')
    const answer = await headOf(text)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expectHygiene(answer)
  })

  it.each([
    ['/api/v1/connect/ws', 401],
    ['/elsewhere', 404],
  ])('a refused upgrade of %s has the security headers', async (path, status) => {
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket']
    const answer = await headOf(requestOf('GET', path, upgrade).replace('Connection: close\r\n', ''), hub.url)
    expect(answer.status).toBe(status)
    expectHygiene(answer)
  })
})

it('sends Strict-Transport-Security only if the public URL is HTTPS', async () => {
  await using plain = await testHub()
  const { headers } = await fetch(`${plain.url}/healthz`)
  expect(headers.get('strict-transport-security')).toBeNull()
  expect(headers.get('referrer-policy')).toBe('no-referrer')
})

it('S39: includes names below that of the hub in Strict-Transport-Security by a setting', async () => {
  const settings = { MUSTER_PUBLIC_URL: 'https://hub.example', MUSTER_HSTS_SUBDOMAINS: '1' }
  const wide = await createServer({
    config: loadConfig(settings),
    instanceKey: () => Buffer.alloc(32),
    log: createLog('silent'),
    core: () => hub,
    publicUrl: () => 'https://hub.example',
  })
  stack.defer(() => wide.close())
  const { headers } = await fetch(`${await wide.listen({ host: '127.0.0.1', port: 0 })}/healthz`)
  expect(headers.get('strict-transport-security')).toBe('max-age=31536000; includeSubDomains')
})
