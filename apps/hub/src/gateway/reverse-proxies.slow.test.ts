import { spawn } from 'node:child_process'
import { randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { connectDevice, deviceIdentity, digestOf, freePort, testHub, until } from '@muster/testkit'
import { hasPrograms, PROGRAMS } from '@muster/testkit/programs'
import { describe, expect, it } from 'vitest'

const DOCUMENT = join(import.meta.dirname, '../../../../docs/operating.md')
const BEHIND = {
  publicUrl: 'https://hub.example.com',
  trustedProxies: ['127.0.0.1'],
  proxySecret: 'at least sixteen characters',
}

type Proxy = { program: 'nginx' | 'caddy'; arguments: (folder: string) => string[] }

const NGINX: Proxy = {
  program: 'nginx',
  arguments: folder => ['-p', folder, '-c', join(folder, 'nginx.conf')],
}
const CADDY: Proxy = {
  program: 'caddy',
  arguments: folder => ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
}

/** Returns the example configuration of a proxy in docs/operating.md, with the files and the hub's port of this test. */
function exampleOf(language: 'nginx' | 'caddy', folder: string, hubPort: number): string {
  const [, block] =
    new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(readFileSync(DOCUMENT, 'utf8')) ?? []
  return block!
    .replaceAll('/etc/ssl/', `${folder}/`)
    .replaceAll('/var/cache/nginx/', `${folder}/`)
    .replaceAll('/var/log/nginx/', `${folder}/`)
    .replaceAll('127.0.0.1:6878', `127.0.0.1:${hubPort}`)
}

function nginxFiles(folder: string, port: number, hubPort: number): Record<string, string> {
  const server = exampleOf('nginx', folder, hubPort).replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return {
    'nginx.conf': `daemon off; pid ${folder}/pid; error_log stderr;
     events {}
     http { access_log off;
       ${temporary.map(kind => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
       ${server} }`,
  }
}

function caddyFiles(folder: string, port: number, hubPort: number): Record<string, string> {
  const site = exampleOf('caddy', folder, hubPort).replace('https://hub.example.com', `https://:${port}`)
  // `auto_https` and `skip_install_trust` keep Caddy from creating a certificate authority and from making the system trust it.
  // `strict_sni_host` must be off because the clients of this test send no SNI.
  return {
    Caddyfile: `{
      admin off
      auto_https off
      skip_install_trust
      storage file_system ${folder}
      servers {
        strict_sni_host insecure_off
      }
    }
    ${site}`,
  }
}

/** Runs a proxy with the configuration of docs/operating.md, but with a port and files of this test. */
async function started(
  proxy: Proxy,
  files: (folder: string, port: number, hubPort: number) => Record<string, string>,
  hubPort: number,
): Promise<AsyncDisposable & { port: number; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-proxy-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const { certificatePem, keyPem } = await deviceIdentity()
  const all = { 'hub.pem': certificatePem, 'hub.key': keyPem!, ...files(folder, port, hubPort) }
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
  const child = spawn(PROGRAMS[proxy.program].path, proxy.arguments(folder), {
    env: { ...process.env, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderrText = ''
  child.stderr.on('data', chunk => {
    stderrText += chunk
  })
  await until('the proxy answers', async () => {
    if (child.exitCode !== null) throw new Error(`the proxy ended: ${stderrText}`)
    return (await ask(port, '/healthz').catch(() => undefined))?.status === 200
  })
  return {
    port,
    folder,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

function ask(
  port: number,
  path: string,
  { body, ...options }: RequestOptions & { body?: Buffer } = {},
): Promise<Answer> {
  return new Promise((done, failed) => {
    request({ port, host: '127.0.0.1', path, rejectUnauthorized: false, ...options }, answer => {
      const { statusCode, headers } = answer
      buffer(answer).then(body => done({ status: statusCode!, headers, body }), failed)
    })
      .on('error', failed)
      .end(body)
  })
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

describe.each([
  ['nginx', NGINX, nginxFiles],
  ['Caddy', CADDY, caddyFiles],
] as const)('%s configured as in docs/operating.md', (_name, proxy, files) => {
  it.skipIf(!hasPrograms(proxy.program))(
    'forwards people, and devices with the certificate that they proved in TLS',
    async () => {
      await using hub = await testHub(BEHIND)
      await using front = await started(proxy, files, hub.address.port)
      const { headers } = await ask(front.port, '/login')
      expect(headers['strict-transport-security']).toContain('max-age')

      const { owner, token, projectId } = await hub.fleet()
      const identity = await deviceIdentity()
      const options = { url: `https://127.0.0.1:${front.port}`, token, identity }
      const tls = { cert: identity.certificatePem, key: identity.keyPem! }
      await using device = await connectDevice({ ...options, tls, headers: { 'x-client-cert': undefined } })
      const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
      const { fingerprint256 } = new X509Certificate(identity.certificatePem)
      expect(certificates).toMatchObject([{ status: 'Active', fingerprint: fingerprint256 }])

      // A device cannot forge `X-Client-Cert`, because the proxy replaces the header.
      const other = await deviceIdentity()
      const forged = { 'x-client-cert': encodeURIComponent(other.certificatePem) }
      await expect(connectDevice({ ...options, headers: forged })).rejects.toMatchObject({
        status: expect.toSatisfy(status => status === 400 || status === 403),
      })
      await using again = await connectDevice({ ...options, tls, headers: forged })
      expect(again.deviceId).toBe(device.deviceId)
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
      expect(devices).toMatchObject([{ pendingCertificatesCount: 0 }])
    },
  )
})

describe('files of repositories behind nginx configured as in docs/operating.md', () => {
  it.skipIf(!hasPrograms('nginx'))(
    'are read from the hub once, and served from the cache for whole and range requests',
    async () => {
      await using hub = await testHub(BEHIND)
      await using front = await started(NGINX, nginxFiles, hub.address.port)
      const owner = await hub.user()
      const repositoryId = await hub.repository(owner, await hub.organization(owner))
      // The file is larger than 1 MiB, the default limit of nginx for request bodies.
      const bytes = randomBytes(3 * 1024 * 1024)
      const digest = digestOf(bytes)
      const { assetId } = await owner.invoke('repositories_CreateAsset', {
        repositoryId,
        size: bytes.length,
        digest,
      })
      const issued = await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })
      expect((await ask(front.port, pathOf(issued.url), { method: 'PUT', body: bytes })).status).toBe(200)

      const path = pathOf((await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId })).url)
      const first = await ask(front.port, path)
      expect(first.status).toBe(200)
      expect(first.body.equals(bytes)).toBe(true)
      const forged = path.replace(/expires=\d/, 'expires=9')
      expect((await ask(front.port, forged)).status).toBe(403)

      // O8: the log of nginx contains no signature, and contains the request id that the hub uses.
      const line = await until('it is logged', () =>
        readFileSync(join(front.folder, 'muster.log'), 'utf8')
          .split('\n')
          .find(line => line.includes('"GET /api/v1/blobs/') && line.includes(' 200 ')),
      )
      expect(line).not.toContain('?')
      expect(line).not.toContain(new URLSearchParams(path.split('?')[1]).get('signature') ?? 'signature')
      const { headers: probeHeaders } = await ask(front.port, '/healthz')
      expect(probeHeaders['x-request-id']).toMatch(/^[0-9a-f]{32}$/)
      await until('the request id is logged', () =>
        readFileSync(join(front.folder, 'muster.log'), 'utf8').includes(`${probeHeaders['x-request-id']}\n`),
      )

      // From here on only the cache of nginx has the bytes.
      rmSync(join(hub.dataDir, 'blobs'), { recursive: true })
      expect((await fetch(hub.url + path)).status).toBe(404)
      const again = await ask(front.port, path)
      expect(again.body.equals(bytes)).toBe(true)
      expect(again.headers).not.toHaveProperty('x-request-id')
      const kept = [
        'etag',
        'x-content-sha256',
        'content-security-policy',
        'content-disposition',
        'cache-control',
      ]
      for (const name of kept) expect([name, again.headers[name]]).toEqual([name, first.headers[name]])
      const { etag } = first.headers
      const part = await ask(front.port, path, { headers: { range: 'bytes=1000000-', 'if-range': etag } })
      expect([part.status, part.body.equals(bytes.subarray(1_000_000))]).toEqual([206, true])
      const changed = await ask(front.port, path, { headers: { range: 'bytes=1-', 'if-range': '"other"' } })
      expect([changed.status, changed.body.length]).toEqual([200, bytes.length])
      expect((await ask(front.port, path, { headers: { 'if-none-match': etag } })).status).toBe(304)
      expect((await ask(front.port, path, { method: 'HEAD' })).body.length).toBe(0)
      expect((await ask(front.port, forged)).status).toBe(403)
    },
  )
})
