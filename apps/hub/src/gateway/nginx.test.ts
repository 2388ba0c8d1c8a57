import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectDevice, deviceIdentity, testHub, until } from '@muster/testkit'
import { expect, it } from 'vitest'

const NGINX = '/usr/sbin/nginx'
const DOCUMENT = join(import.meta.dirname, '../../../../docs/operating.md')
const SECRET = 'at least sixteen characters'

/** Whether nginx is here; as root on Debian it is installed. */
function hasNginx(): boolean {
  if (!existsSync(NGINX) && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore' })
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'nginx-light'], {
      stdio: 'ignore',
    })
  }
  return existsSync(NGINX)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** Runs nginx with the very text of docs/operating.md, on ports and files of this test. */
async function startNginx(hubPort: number): Promise<AsyncDisposable & { port: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-nginx-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const { certificatePem, keyPem } = await deviceIdentity()
  writeFileSync(join(folder, 'hub.pem'), certificatePem)
  writeFileSync(join(folder, 'hub.key'), keyPem!)
  const [, block] = /```nginx\n([\s\S]*?)```/.exec(readFileSync(DOCUMENT, 'utf8')) ?? []
  const server = block!
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replaceAll('/etc/ssl/', `${folder}/`)
    .replace('127.0.0.1:6878', `127.0.0.1:${hubPort}`)
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr;
     events {}
     http { access_log off;
       ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
       ${server} }`,
  )
  const nginx = spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let told = ''
  nginx.stderr.on('data', chunk => {
    told += chunk
  })
  await until('nginx answers', async () => {
    if (nginx.exitCode !== null) throw new Error(`nginx ended: ${told}`)
    return (await get(port, '/healthz').catch(() => undefined))?.status === 200
  })
  return {
    port,
    async [Symbol.asyncDispose]() {
      const ended = once(nginx, 'exit')
      nginx.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function get(port: number, path: string): Promise<{ status: number; hsts: unknown }> {
  return new Promise((done, failed) => {
    const options = { port, host: '127.0.0.1', path, rejectUnauthorized: false }
    request(options, answer => {
      answer.resume()
      done({ status: answer.statusCode!, hsts: answer.headers['strict-transport-security'] })
    })
      .on('error', failed)
      .end()
  })
}

it.skipIf(!hasNginx())('works behind nginx as docs/operating.md says', async () => {
  await using hub = await testHub({
    publicUrl: 'https://hub.example.com',
    trustedProxies: ['127.0.0.1'],
    proxySecret: SECRET,
  })
  await using nginx = await startNginx(hub.address.port)
  expect(await get(nginx.port, '/login')).toMatchObject({ hsts: expect.stringContaining('max-age') })

  const { owner, token, projectId } = await hub.fleet()
  const identity = await deviceIdentity()
  const options = { url: `https://127.0.0.1:${nginx.port}`, token, identity }
  const tls = { cert: identity.certificatePem, key: identity.keyPem! }
  await using device = await connectDevice({ ...options, tls, headers: { 'x-client-cert': undefined } })
  const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
  expect(certificates).toMatchObject([{ status: 'Active' }])

  // A device cannot say by itself which certificate it has: nginx replaces the header.
  const other = await deviceIdentity()
  const forged = { 'x-client-cert': encodeURIComponent(other.certificatePem) }
  await expect(connectDevice({ ...options, headers: forged })).rejects.toMatchObject({ status: 403 })
  await using again = await connectDevice({ ...options, tls, headers: forged })
  expect(again.deviceId).toBe(device.deviceId)
  const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
  expect(devices).toMatchObject([{ pendingCertificatesCount: 0 }])
})
