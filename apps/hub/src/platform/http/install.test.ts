import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { VERSION } from '@muster/actions/version'
import { createCertificate } from '@muster/link/certificate'
import { ask, until } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Config, loadConfig } from '../config/config.ts'
import type { Core } from '../pipeline/core.ts'
import { createLog } from '../runtime/log.ts'
import { createServer } from './server.ts'

const PATHS = ['/install.sh', '/install/manifest', '/muster-agent', '/install/node']
const SECRET = 'a secret of sixteen'
const NODE_FILE = `node-linux-${process.arch}`
const isLinux = process.platform === 'linux'
const stack = new AsyncDisposableStack()
let agentFile: string

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-install-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  agentFile = join(folder, 'muster-agent')
  await writeFile(agentFile, 'the agent')
})
afterAll(() => stack.disposeAsync())

/** Starts a server with a public URL. */
async function served(publicUrl: string, file = agentFile, config: Partial<Config> = {}) {
  const app = await createServer({
    config: {
      ...loadConfig({
        MUSTER_PORT: '0',
        MUSTER_TRUSTED_PROXIES: '198.51.100.7',
        MUSTER_PROXY_SECRET: SECRET,
      }),
      publicUrl,
      ...config,
    },
    instanceKey: () => Buffer.alloc(32),
    log: createLog('silent'),
    core: () => ({ readiness: {} }) as Core,
    publicUrl: () => publicUrl,
    agentFile: file,
  })
  stack.defer(() => app.close())
  return { app, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function manifestOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map(line => line.split(' ') as [string, string]),
  )
}

describe('the install script', () => {
  it('is a fixed file with the public URL, the unit of the package and nothing of the request', async () => {
    const hub = await served('https://hub.example')
    const { status, headers, text } = await ask(hub, '/install.sh')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache')
    const template = await readFile(join(import.meta.dirname, 'install.sh'), 'utf8')
    const examples = join(import.meta.dirname, '../../../../agent/examples')
    const unit = (await readFile(join(examples, 'muster-agent.service'), 'utf8')).trimEnd()
    const fingerprint = (await readFile(join(examples, 'fingerprint'), 'utf8')).trimEnd()
    expect(text).toBe(
      template
        .replace(/@MUSTER_(?:PUBLIC|DEVICE)_URL@/g, 'https://hub.example')
        .replace('@MUSTER_AGENT_UNIT@', () => unit)
        .replace('@MUSTER_FINGERPRINT@', () => fingerprint),
    )
    expect(text).toContain(`\n${unit}\nEND\n`)
    expect(text).toContain(`\n${fingerprint}\nEND\n`)
    expect(text).toContain("\n  hub='https://hub.example'\n")
    const other = await ask(hub, "/install.sh?x='$(id)'", {
      headers: { 'x-forwarded-host': 'evil.example', referer: "https://evil.example/'" },
    })
    expect(other.text).toBe(text)
  })

  it('names the port that asks devices for their certificates', async () => {
    const { certificatePem, keyPem } = createCertificate('hub.example')
    const tls = { certPath: `${agentFile}-cert.pem`, keyPath: `${agentFile}-key.pem` }
    await writeFile(tls.certPath, certificatePem)
    await writeFile(tls.keyPath, keyPem)
    const { app } = await served('https://hub.example', agentFile, { tls, devicePort: 6879 })
    const { body } = await app.inject({ path: '/install.sh', remoteAddress: '127.0.0.1' })
    expect(body).toContain("\n  hub='https://hub.example'\n  device_hub='https://hub.example:6879'\n")
  })

  it('starts on its last line only, in braces that no cut leaves closed', async () => {
    const template = await readFile(join(import.meta.dirname, 'install.sh'), 'utf8')
    expect(template.trimEnd().split('\n').at(-1)).toBe('{ main "$@"; }')
  })

  it.each([
    'http://10.0.0.1:6878',
    'http://hub.example',
    "https://a'b.example",
    'https://a"b.example',
    'https://a$b.example',
    'https://a`b.example',
    'https://a;b.example',
  ])('is not offered with the public URL %s, nor are the other files', async publicUrl => {
    const hub = await served(publicUrl)
    for (const path of PATHS) {
      const { status, text } = await ask(hub, path)
      expect({ path, status }).toEqual({ path, status: isLinux || path !== '/install/node' ? 403 : 404 })
      expect(text).not.toContain('#!/bin/sh')
    }
  })
})

it('is offered by plain HTTP to this machine, and to others only through a trusted proxy', async () => {
  const { app } = await served('https://hub.example')
  const status = async (remoteAddress: string, headers = {}) =>
    (await app.inject({ path: '/install.sh', remoteAddress, headers: { host: 'hub.example', ...headers } }))
      .statusCode
  expect(await status('127.0.0.1')).toBe(200)
  expect(await status('::ffff:127.0.0.1')).toBe(200)
  expect(await status('203.0.113.9')).toBe(403)
  expect(await status('198.51.100.7')).toBe(403)
  expect(await status('198.51.100.7', { 'x-muster-proxy-secret': SECRET })).toBe(200)
  expect(await status('203.0.113.9', { 'x-muster-proxy-secret': SECRET })).toBe(403)
  for (const [proto, expected] of [
    ['https', 200],
    ['http', 403],
    ['https, http', 403],
    ['http, HTTPS', 200],
  ] as const) {
    const headers = { 'x-muster-proxy-secret': SECRET, 'x-forwarded-proto': proto }
    for (const proxy of ['127.0.0.1', '198.51.100.7'])
      expect([proxy, proto, await status(proxy, headers)]).toEqual([proxy, proto, expected])
  }
})

it('is offered by a hub with a loopback address to this machine only', async () => {
  const { app } = await served('http://localhost:6878')
  const status = async (remoteAddress: string) =>
    (await app.inject({ path: '/install.sh', remoteAddress, headers: { host: 'localhost:6878' } })).statusCode
  expect(await status('127.0.0.1')).toBe(200)
  expect(await status('203.0.113.9')).toBe(403)
})

describe('the manifest', () => {
  it('has the version and the digests of what the hub serves', async () => {
    const hub = await served('http://localhost:6878')
    const { text, headers } = await ask(hub, '/install/manifest')
    expect(headers.get('cache-control')).toBe('no-store')
    const manifest = manifestOf(text)
    expect(manifest).toEqual({
      version: VERSION,
      'muster-agent': sha256('the agent'),
      'install.sh': sha256((await ask(hub, '/install.sh')).text),
      ...(isLinux && { [NODE_FILE]: expect.stringMatching(/^[0-9a-f]{64}$/) }),
    })
    const agent = await ask(hub, '/muster-agent')
    expect(agent.text).toBe('the agent')
    expect(agent.headers.get('x-content-sha256')).toBe(manifest['muster-agent'])
    expect(agent.headers.get('content-disposition')).toBe('attachment; filename="muster-agent"')
    if (!isLinux) return
    const node = new Uint8Array(await (await fetch(`${hub.url}/install/node`)).arrayBuffer())
    expect(sha256(node)).toBe(manifest[NODE_FILE])
    expect(node.length).toBe((await readFile(process.execPath)).length)
    const head = await ask(hub, '/install/node', { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(node.length))
  })

  it('follows a file that is replaced while the hub runs', async () => {
    const file = `${agentFile}-replaced`
    await writeFile(file, 'one')
    const hub = await served('http://localhost:6878', file)
    expect((await ask(hub, '/install/manifest')).text).toContain(sha256('one'))
    await writeFile(file, 'another')
    expect((await ask(hub, '/install/manifest')).text).toContain(sha256('another'))
  })

  it('is 503 with what to do where the agent is not packed, until it is', async () => {
    const file = `${agentFile}-missing`
    const hub = await served('http://localhost:6878', file)
    for (const path of ['/install/manifest', '/muster-agent']) {
      const { status, text } = await ask(hub, path)
      expect(status).toBe(503)
      expect(text).toContain('npm start')
      expect(text).not.toContain(file)
    }
    await writeFile(file, 'packed')
    expect((await ask(hub, '/muster-agent')).text).toBe('packed')
  })
})

it.runIf(isLinux)('refuses downloads beyond its limit, until one of them ends', async () => {
  const hub = await served('http://localhost:6878')
  const stalled = await Promise.all(Array.from({ length: 32 }, () => stall(hub.url)))
  const refused = await ask(hub, '/muster-agent')
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('10')
  stalled[0]!.destroy()
  await until('a download has ended', async () => (await ask(hub, '/muster-agent')).status === 200)
  for (const socket of stalled) socket.destroy()
})

it.runIf(isLinux)('gives the places of downloads back whose client leaves before the answer', async () => {
  const hub = await served('http://localhost:6878')
  for (let round = 0; round < 40; round++) {
    const socket = connect(Number(new URL(hub.url).port), '127.0.0.1')
    socket.on('error', () => {})
    await new Promise(done => socket.once('connect', done))
    await new Promise(done =>
      socket.write('GET /install/node HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(5), done),
    )
    await sleep(round % 4)
    socket.destroy()
  }
  await until('all places are free', async () => {
    const sockets = await Promise.all(Array.from({ length: 16 }, () => stall(hub.url)))
    const heads = sockets.map(socket => String(socket.read()))
    for (const socket of sockets) socket.destroy()
    return heads.every(head => head.startsWith('HTTP/1.1 200'))
  })
})

/** Starts a download of Node and stops reading after its head. */
async function stall(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET /install/node HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await new Promise(done => socket.once('readable', done))
  return socket
}

/** Programs that the script downloads with, and the option that makes each trust the test's certificate. */
const DOWNLOADERS = ['curl', 'wget'].filter(
  name => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0,
)

describe.each(DOWNLOADERS)('S38: a download of the script by %s', program => {
  let folder: string
  let cert: string
  /** Paths that the plain HTTP server was asked for. */
  const plain: string[] = []
  const httpServer = createHttpServer((request, response) => {
    plain.push(request.url!)
    response.end('forged')
  })
  let httpsServer: HttpsServer

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-fetch-'))
    cert = join(folder, 'cert.pem')
    const made = createCertificate('localhost')
    await writeFile(cert, made.certificatePem)
    await writeFile(join(folder, 'wgetrc'), `ca_certificate = ${cert}\n`)
    // Only this program is in the folder, besides those that the function uses.
    for (const name of [program, 'grep']) {
      const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
      await symlink(found, join(folder, name))
    }
    httpsServer = createHttpsServer({ cert: made.certificatePem, key: made.keyPem }, (request, response) => {
      const { port } = httpServer.address() as AddressInfo
      if (request.url === '/direct') response.end('genuine')
      else response.writeHead(302, { location: `http://localhost:${port}${request.url}` }).end()
    })
    await Promise.all([
      once(httpServer.listen(0, 'localhost'), 'listening'),
      once(httpsServer.listen(0, 'localhost'), 'listening'),
    ])
  })
  afterAll(async () => {
    httpServer.close()
    httpsServer.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Runs the script's function `fetch` for a path of the HTTPS server. */
  async function fetched(path: string): Promise<{ code: number; out: string }> {
    const script = await readFile(join(import.meta.dirname, 'install.sh'), 'utf8')
    const functions = script.slice(0, script.lastIndexOf('\n{ main '))
    const { port } = httpsServer.address() as AddressInfo
    const child = spawn(
      '/bin/sh',
      ['-c', `${functions}\nhub=https://localhost:${port}\ncan_fetch && fetch ${path}`],
      {
        env: { PATH: folder, CURL_CA_BUNDLE: cert, WGETRC: join(folder, 'wgetrc') },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    const [out, [code]] = await Promise.all([textOf(child.stdout), once(child, 'close')])
    return { code: code as number, out }
  }

  it('takes the file itself, and follows no redirect from https to http', async () => {
    expect(await fetched('/direct')).toEqual({ code: 0, out: 'genuine' })
    const redirected = await fetched('/redirected')
    expect(redirected.code).not.toBe(0)
    expect(redirected.out).toBe('')
    expect(plain).toEqual([])
  })
})
