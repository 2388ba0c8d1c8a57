import { randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { connectDevice, deviceIdentity, digestOf, freePort, testHub, until } from '@muster/testkit'
import { FRONT_SECRET, startFront } from '@muster/testkit/front'
import { hasPrograms } from '@muster/testkit/programs'
import { describe, expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'

const BEHIND = {
  publicUrl: 'https://hub.example.com',
  trustedProxies: ['127.0.0.1'],
  proxySecret: FRONT_SECRET,
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

describe.each(['nginx', 'caddy', 'haproxy'] as const)('%s configured as in docs/operating.md', program => {
  it.skipIf(!hasPrograms(program))(
    'forwards people, and devices with the certificate that they proved in TLS',
    async () => {
      await using hub = await testHub(BEHIND)
      await using front = await startFront(program, [hub.address.port])
      const { headers } = await ask(front.port, '/login')
      expect(headers['strict-transport-security']).toContain('max-age')

      const { out } = await runHere(['doctor'], {
        MUSTER_DATABASE_URL: hub.pool.options.connectionString,
        MUSTER_DATA_DIR: hub.dataDir,
        MUSTER_PUBLIC_URL: `https://127.0.0.1:${front.port}`,
      })
      expect(out).toContain(`ok       address: The hub answers at https://127.0.0.1:${front.port}.\n`)
      expect(out).toContain('ok       web sockets: Upgrades to WebSockets reach the hub.\n')

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
      await using front = await startFront('nginx', [hub.address.port])
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

      // Goal O8 (docs/goals.md): the log of nginx contains no signature, and contains the request id that the hub uses.
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

      // After the removal only the cache of nginx has the bytes.
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

describe.each(['nginx', 'haproxy'] as const)('%s in front of three nodes', program => {
  it.skipIf(!hasPrograms(program))(
    'O17: shows its own page while no hub answers, and gives a node that was away its share at once',
    { timeout: 60_000 },
    async () => {
      const ports = [await freePort(), await freePort(), await freePort()]
      await using front = await startFront(program, ports)
      const away = await ask(front.port, '/login')
      expect(away).toMatchObject({
        status: 503,
        headers: { 'cache-control': 'no-store', 'retry-after': '10' },
      })
      expect(away.headers['content-type']).toContain('text/html')
      expect(String(away.body)).toContain('<h1>Muster does not answer</h1>')

      // Stand-ins for hubs. Those in `unready` are without their database. Each holds the connections of its devices.
      const unready = new Set([0, 1, 2])
      const devices = ports.map(() => 0)
      const sockets: Duplex[] = []
      const servers = ports.map((_port, at) =>
        createServer((_request, response) =>
          response.writeHead(unready.has(at) ? 503 : 200, { 'retry-after': '5' }).end('the hub itself'),
        ).on('upgrade', (_request, socket) => {
          sockets.push(socket.on('error', () => {}))
          if (unready.has(at))
            return socket.end('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n')
          devices[at]!++
          return socket.write(
            'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: avQ0iZj7RjpErtAcxt9eC+XX4pI=\r\n\r\n',
          )
        }),
      )
      try {
        for (const [at, server] of servers.entries())
          await once(server.listen(ports[at], '127.0.0.1'), 'listening')
        const connect = (): Promise<number> =>
          new Promise((done, failed) => {
            const upgrade = {
              connection: 'Upgrade',
              upgrade: 'websocket',
              'sec-websocket-version': '13',
              'sec-websocket-key': 'bXVzdGVyIGRvY3RvciA0Mg==',
            }
            const options = { port: front.port, host: '127.0.0.1', path: '/', rejectUnauthorized: false }
            const opening = request({ ...options, headers: upgrade }, answer =>
              done(answer.resume().statusCode!),
            )
            opening.on('upgrade', ({ statusCode }, socket) => {
              sockets.push(socket)
              done(statusCode!)
            })
            opening.on('error', failed).end()
          })
        const all = await ask(front.port, '/login')
        expect(all.status).toBe(503)
        if (program === 'nginx') expect(all).toMatchObject({ headers: { 'retry-after': '5' } })
        // One node is away while the first devices come.
        for (const at of [1, 2]) unready.delete(at)
        await until('the other nodes are ready', async () => (await connect()) === 101)
        for (let n = 0; n < 20; n++) await connect()
        unready.delete(0)
        const before = devices[0]!
        await until('the node is back', async () => (await connect()) === 101 && devices[0]! > before)
        for (let n = 0; n < 39; n++) await connect()
        expect(Math.min(...devices), String(devices)).toBeGreaterThan(15)
      } finally {
        for (const socket of sockets) socket.destroy()
        for (const server of servers) server.close()
      }
    },
  )
})
