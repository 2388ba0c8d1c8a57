import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Config, loadConfig } from '../config/config.ts'
import type { Core } from '../pipeline/core.ts'
import { createLog } from '../runtime/log.ts'
import { createServer } from './server.ts'

const SCRIPT = "document.documentElement.dataset.theme = 'dark'"
const INDEX = `<!doctype html><title>Muster</title><script>${SCRIPT}</script><script type="module" src="/assets/app-1.js"></script>`
const OFFLINE = '<!doctype html><title>Lost</title><style>p{}</style><script>probe()</script>'

let folder: string
const stack = new AsyncDisposableStack()
let hub: { url: string }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-console-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const dist = join(folder, 'dist')
  await mkdir(join(dist, 'assets'), { recursive: true })
  await writeFile(join(folder, 'secret.txt'), 'not for the world')
  await writeFile(join(dist, 'index.html'), INDEX)
  await writeFile(join(dist, 'favicon.svg'), '<svg/>')
  await writeFile(join(dist, 'offline.html'), OFFLINE)
  await writeFile(join(dist, 'sw.js'), 'self.addEventListener')
  await writeFile(join(dist, 'manifest.webmanifest'), '{}')
  await writeFile(join(dist, '.env'), 'secret=1')
  await writeFile(join(dist, 'assets', 'app-1.js'), 'console.log(1)')
  await writeFile(join(dist, 'assets', 'app-1.js.br'), 'compressed')
  await writeFile(join(dist, 'assets', '.hidden.js'), 'hidden')
  hub = await served({})
})
afterAll(() => stack.disposeAsync())

async function served(
  settings: Partial<Config>,
  consoleDir = join(folder, 'dist'),
): Promise<{ url: string }> {
  const app = await createServer({
    config: { ...loadConfig({ MUSTER_PORT: '0' }), ...settings },
    instanceKey: () => Buffer.alloc(32),
    log: createLog('silent'),
    core: () => ({ readiness: {} }) as Core,
    publicUrl: () => 'http://hub.example',
    consoleDir,
  })
  stack.defer(() => app.close())
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

/** Sends a request with the path unchanged. `fetch` would normalize it. */
async function raw(path: string): Promise<string> {
  const socket = connect(Number(new URL(hub.url).port), '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8')
  socket.on('data', chunk => {
    answer += chunk
  })
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  await new Promise(done => socket.once('close', done))
  return answer
}

function policyOf(headers: Headers): Record<string, string[]> {
  const directives = headers.get('content-security-policy')!.split('; ')
  return Object.fromEntries(
    directives.map(directive => directive.split(' ')).map(([name, ...values]) => [name!, values]),
  )
}

describe('a page of the console', () => {
  it.each([
    '/',
    '/index.html',
    '/login?redirect=/',
    '/org_1/projects/p_1/devices/d_1',
    '/org_x/repo_y',
    '/signup',
    '/signup/verify?jwt=a.b.c',
    '/org_1/projects/p_1/devices/',
    '/settings/profile',
    '/Admin/log',
  ])('is the index page, never cached: %s', async path => {
    const answer = await ask(hub, path)
    expect(answer.status).toBe(200)
    expect(answer.text).toBe(INDEX)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-frame-options')).toBe('DENY')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it.each([
    '/metrics',
    '/version',
    '/status',
    '/no/such/page',
    '/org_1/projects/p_1/nothing',
    '/org_1/projects/p_1/devices/d_1/nothing',
    '/apiary',
    '/assetsx',
    '/constructor',
    '/%20',
  ])('O7: is 404 for an unknown path, with the index page for browsers: %s', async path => {
    const program = await ask(hub, path)
    expect(program.status).toBe(404)
    expect(program.json()).toMatchObject({ kind: 'Invalid', message: `There is no GET ${path}.` })
    const browser = await ask(hub, path, { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect(browser.status).toBe(404)
    expect(browser.text).toBe(INDEX)
    expect(browser.headers.get('content-security-policy')).toContain("script-src 'self'")
  })

  it('allows only scripts of its origin and the inline script with a known hash', async () => {
    const { headers } = await ask(hub, '/')
    const hash = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`
    expect(policyOf(headers)).toEqual({
      'default-src': ["'self'"],
      'script-src': ["'self'", hash],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'connect-src': ["'self'"],
      'object-src': ["'none'"],
      'base-uri': ["'none'"],
      'form-action': ["'self'"],
      'frame-ancestors': ["'none'"],
    })
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
  })

  it("allows the origins of the operator's scripts too", async () => {
    const scripts = [
      { src: 'https://stats.example/x.js?id=1', attributes: {} },
      { src: '/local.js', attributes: {} },
    ]
    const { headers } = await ask(await served({ console: { scripts } }), '/')
    const policy = policyOf(headers)
    expect(policy['script-src']).toContain('https://stats.example')
    expect(policy['connect-src']).toEqual(["'self'", 'https://stats.example'])
    expect(policy['script-src']!.filter(source => source.includes('local'))).toEqual([])
  })

  it('allows connections to the origins that the operator lists', async () => {
    const scripts = [{ src: 'https://stats.example/x.js', attributes: {} }]
    const connect = ['https://collect.example', 'wss://live.example:8443/', 'https://stats.example']
    const { headers } = await ask(await served({ console: { scripts, connect } }), '/')
    const policy = policyOf(headers)
    expect(policy['connect-src']).toEqual([
      "'self'",
      'https://stats.example',
      'https://collect.example',
      'wss://live.example:8443',
    ])
    expect(policy['script-src']).not.toContain('https://collect.example')
  })

  it('C22: has the text of the banner, so that the first paint has its height', async () => {
    const dist = join(folder, 'with-banner')
    await mkdir(join(dist, 'assets'), { recursive: true })
    await writeFile(join(dist, 'index.html'), `${INDEX}<div id="boot"><!--banner--></div>`)
    const text = 'Closed on <b>Sunday</b> &amp; "Monday" <<script>alert(1)</script> $&'
    const { text: page } = await ask(await served({ console: { banner: { text } } }, dist), '/')
    expect(page).toBe(
      `${INDEX}<div id="boot"><div class="banner"><span class="icon"></span><span>Closed on Sunday &amp; &#34;Monday&#34; alert(1) $&</span></div></div>`,
    )
    const { text: without } = await ask(await served({}, dist), '/')
    expect(without).toBe(`${INDEX}<div id="boot"><!--banner--></div>`)
  })

  it('C23: is a file of its own for the sign-in page, with a policy for its own script', async () => {
    const dist = join(folder, 'with-login')
    await mkdir(join(dist, 'assets'), { recursive: true })
    const login = `${INDEX}<!--banner--><form></form><!--banner--><script>show()</script>`
    await writeFile(join(dist, 'index.html'), INDEX)
    await writeFile(join(dist, 'login.html'), login)
    const console = await served({ console: { banner: { text: 'Closed' } } }, dist)
    for (const path of ['/login', '/login/?redirect=/', '/Login']) {
      const { text, headers } = await ask(console, path)
      expect(text.match(/<span>Closed<\/span>/g)).toHaveLength(2)
      expect(text).toContain('<form></form>')
      const hash = `'sha256-${createHash('sha256').update('show()').digest('base64')}'`
      expect(policyOf(headers)['script-src']).toContain(hash)
      expect(headers.get('cache-control')).toBe('no-store')
    }
    for (const path of ['/', '/signup', '/login/more', '/login.html']) {
      const { text, headers } = await ask(console, path, { headers: { accept: 'text/html' } })
      expect(text).toBe(INDEX)
      expect(policyOf(headers)['script-src']).toHaveLength(2)
    }
  })

  it('answers HEAD like GET without a body', async () => {
    const answer = await ask(hub, '/login', { method: 'HEAD' })
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('')
    expect(answer.headers.get('content-length')).toBe(String(INDEX.length))
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'")
  })

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('refuses %s with 405', async method => {
    const answer = await ask(hub, '/login', { method })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe('GET, HEAD')
    expect(answer.json()).toMatchObject({ kind: 'Invalid', requestId: answer.headers.get('x-request-id') })
  })
})

describe('a file of the console', () => {
  it('is cached forever if its name contains its hash', async () => {
    const answer = await ask(hub, '/assets/app-1.js', { headers: { 'accept-encoding': 'identity' } })
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('console.log(1)')
    expect(answer.headers.get('content-type')).toMatch(/^(text|application)\/javascript/)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('is sent compressed to clients that accept it', async () => {
    const { headers } = await ask(hub, '/assets/app-1.js', {
      method: 'HEAD',
      headers: { 'accept-encoding': 'br' },
    })
    expect(headers.get('content-encoding')).toBe('br')
    expect(headers.get('vary')).toMatch(/accept-encoding/i)
  })

  it('beside the index page is served by its name', async () => {
    const answer = await ask(hub, '/favicon.svg')
    expect(answer.text).toBe('<svg/>')
    expect(answer.headers.get('content-type')).toBe('image/svg+xml')
  })

  it('that must be current is compared with the hub each time, with a policy that allows no more than it needs', async () => {
    const page = await ask(hub, '/offline.html')
    const worker = await ask(hub, '/sw.js')
    const manifest = await ask(hub, '/manifest.webmanifest')
    for (const { headers } of [page, worker, manifest]) expect(headers.get('cache-control')).toBe('no-cache')
    const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    expect(page.text).toBe(OFFLINE)
    expect(policyOf(page.headers)).toEqual({
      'default-src': ["'none'"],
      'script-src': [hashOf('probe()')],
      'style-src': [hashOf('p{}')],
      'img-src': ["'self'"],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
    })
    expect(worker.headers.get('content-type')).toMatch(/^(text|application)\/javascript/)
    expect(policyOf(worker.headers)).toMatchObject({ 'default-src': ["'none'"], 'connect-src': ["'self'"] })
    expect(manifest.headers.get('content-type')).toMatch(/^application\/manifest\+json/)
  })

  it.each(['/assets/app-0.js', '/assets/', '/assets', '/assets/.hidden.js', '/assets/app-1.js/x'])(
    'that does not exist is 404 and not the index page: %s',
    async path => {
      const answer = await ask(hub, path)
      expect(answer.status).toBe(404)
      expect(answer.json()).toMatchObject({ kind: 'Invalid' })
      expect(answer.headers.get('cache-control') ?? '').not.toContain('immutable')
    },
  )

  it.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/../../secret.txt',
    '/assets/%2e%2e/%2e%2e/secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/assets/..%252f..%252fsecret.txt',
    '/assets/..\\..\\secret.txt',
    '/assets/..%5c..%5csecret.txt',
    '/assets//etc/passwd',
    '/assets/%00',
    '/assets/..%2findex.html%00.js',
    '//etc/passwd',
    '/.env',
    '/%2eenv',
    '/assets/..%2f.env',
    '/assets/..%2findex.html',
    '/assets/..%2ffavicon.svg',
    '/file:///etc/passwd',
    'http://x/../secret.txt',
  ])('outside of the folder is not served: %s', async path => {
    const answer = await raw(path)
    expect(answer).toMatch(/^HTTP\/1\.1 [24]\d\d /)
    expect(answer).not.toContain('not for the world')
    expect(answer).not.toContain('secret=1')
    expect(answer).not.toContain('root:')
    expect(answer).not.toContain('immutable')
    expect(answer).not.toContain(folder)
  })
})

describe('/api/config.json', () => {
  it("has the operator's settings and the public URL, without credentials and never cached", async () => {
    const console = {
      banner: { text: '<b>Maintenance</b>' },
      scripts: [{ src: 'https://stats.example/x.js', attributes: { defer: '' } }],
      termsUrl: 'https://example.com/terms',
      instanceName: 'Halden',
    }
    const connect = ['https://collect.example']
    const answer = await ask(await served({ console: { ...console, connect } }), '/api/config.json')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.json()).toEqual({
      ...console,
      publicUrl: 'http://hub.example',
      deviceUrl: 'http://hub.example',
    })
  })

  it('has the actual port if the hub chose a free one', async () => {
    await using running = await testHub()
    const answer = await ask(running, '/api/config.json')
    const url = `http://localhost:${running.address.port}`
    expect(answer.json()).toEqual({ publicUrl: url, deviceUrl: url })
  })
})

describe('a hub whose console is not built', () => {
  it('answers pages with how to build it, and serves its API', async () => {
    const unbuilt = await served({}, join(folder, 'nowhere'))
    const page = await ask(unbuilt, '/login')
    expect(page.status).toBe(503)
    expect(page.text).toContain('npm start')
    for (const [path, status] of [
      ['/api/nothing', 404],
      ['/assets/app-1.js', 404],
    ] as const) {
      const answer = await ask(unbuilt, path)
      expect(answer.status).toBe(status)
      expect(answer.json()).toMatchObject({ kind: 'Invalid', requestId: expect.any(String) })
    }
    expect((await ask(unbuilt, '/login', { method: 'POST' })).status).toBe(405)
    expect((await ask(unbuilt, '/api/openapi.json')).status).toBe(200)
  })
})
