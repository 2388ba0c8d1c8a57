import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect } from 'node:tls'
import { capturedLog, connectDevice, deviceIdentity, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfig, type TlsFiles } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { readTls, tlsOptions, useTicketKeys, watchExpiry, watchTls } from './tls.ts'

let folder: string
let tls: TlsFiles

beforeAll(async () => {
  // The hub's certificate in these tests is self-signed.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  folder = await mkdtemp(join(tmpdir(), 'muster-tls-'))
  tls = await newFiles('hub')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function newFiles(name: string): Promise<TlsFiles> {
  const { certificatePem, keyPem } = await deviceIdentity()
  const files = { certPath: join(folder, `${name}.pem`), keyPath: join(folder, `${name}-key.pem`) }
  await writeFile(files.certPath, certificatePem)
  await writeFile(files.keyPath, keyPem!)
  return files
}

/** The fingerprint of the certificate that a listener presents. */
async function shownBy(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

/** A TLS session of a listener, from its session ticket. */
async function sessionOf(port: number): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  const [session] = await once(socket, 'session')
  socket.destroy()
  return session as Buffer
}

async function isResumed(port: number, session: Buffer): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, session })
  await once(socket, 'secureConnect')
  const isReused = socket.isSessionReused()
  socket.destroy()
  return isReused
}

const instanceKey = (purpose: string): Buffer => createHash('sha256').update(purpose).digest()

function statusOf(port: number, path: string): Promise<number> {
  return new Promise((done, failed) => {
    request({ port, host: '127.0.0.1', path, rejectUnauthorized: false }, answer => {
      answer.resume()
      done(answer.statusCode!)
    })
      .on('error', failed)
      .end()
  })
}

it('serves people over HTTPS without a client certificate, and authenticates devices by theirs', async () => {
  await using hub = await testHub({ tls, publicUrl: 'https://localhost:0' })
  const { token, owner, projectId } = await hub.fleet()
  expect(await statusOf(hub.address.port, '/healthz')).toBe(200)
  const identity = await deviceIdentity()
  const credentials = { cert: identity.certificatePem, key: identity.keyPem! }
  await using device = await connectDevice({
    url: hub.url,
    token,
    identity,
    tls: credentials,
    headers: { 'x-client-cert': undefined },
  })
  const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
  expect(certificates).toMatchObject([
    { status: 'Active', fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}/) },
  ])

  // The certificate of the TLS connection takes precedence over the header.
  const other = await deviceIdentity()
  await using again = await connectDevice({
    url: hub.url,
    token,
    identity,
    tls: credentials,
    headers: { 'x-client-cert': encodeURIComponent(other.certificatePem) },
  })
  expect(again.deviceId).toBe(device.deviceId)
  const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
  expect(devices).toMatchObject([{ pendingCertificatesCount: 0 }])

  await expect(
    connectDevice({ url: hub.url, token, headers: { 'x-client-cert': undefined } }),
  ).rejects.toMatchObject({ status: 403 })
  // From this machine, the hub trusts the `X-Client-Cert` header only over plain HTTP.
  await expect(connectDevice({ url: hub.url, token, identity: other })).rejects.toMatchObject({ status: 403 })
})

it('serves 100 clients while 200 other connections fail their handshakes', async () => {
  await using hub = await testHub({ tls, publicUrl: 'https://localhost:0' })
  const { port } = hub.address
  const otherClients = Array.from({ length: 200 }, (_, at) => {
    const socket = connectTcp(port, '127.0.0.1').on('error', () => {})
    // A third of the connections sends nothing, a third sends plain HTTP and a third disconnects immediately.
    if (at % 3 === 1) socket.write('GET / HTTP/1.1\r\n\r\n')
    if (at % 3 === 2) socket.once('connect', () => socket.resetAndDestroy())
    return socket
  })
  const statuses = await Promise.all(Array.from({ length: 100 }, () => statusOf(port, '/healthz')))
  expect(new Set(statuses)).toEqual(new Set([200]))
  for (const socket of otherClients) socket.destroy()
})

it('can have a separate listener for devices, and then the main one requests no client certificate', async () => {
  await using hub = await testHub({ tls, devicePort: 0, publicUrl: 'https://localhost:0' })
  const { token } = await hub.fleet()
  const identity = await deviceIdentity()
  await using device = await connectDevice({
    url: `https://127.0.0.1:${hub.devicePort}`,
    token,
    identity,
    tls: { cert: identity.certificatePem, key: identity.keyPem! },
    headers: { 'x-client-cert': undefined },
  })
  expect(device.deviceId).toMatch(/^d_/)
  expect(await statusOf(hub.devicePort!, '/login')).toBe(426)
  expect(await statusOf(hub.address.port, '/healthz')).toBe(200)
  await expect(
    connectDevice({
      url: hub.url,
      token,
      identity,
      tls: { cert: identity.certificatePem, key: identity.keyPem! },
      headers: { 'x-client-cert': undefined },
    }),
  ).rejects.toMatchObject({ status: 403 })
})

it('uses a renewed certificate without a restart, and keeps the old one while the new one is invalid', async () => {
  const files = await newFiles('renewed')
  await using hub = await testHub({ tls: files, publicUrl: 'https://localhost:0' })
  const { log, lines } = capturedLog()
  const server = createServer(tlsOptions(files)).listen(0, '127.0.0.1')
  useTicketKeys(server, instanceKey)
  await once(server, 'listening')
  using _watch = watchTls(files, instanceKey, [server], log, 50)
  const { port } = server.address() as { port: number }
  const before = await shownBy(port)
  const session = await sessionOf(port)
  await writeFile(files.certPath, 'half of a fi')
  await until('the file was read', () => lines.length > 0)
  expect(await shownBy(port)).toBe(before)
  await newFiles('renewed')
  await until('the new certificate is used', async () => (await shownBy(port)) !== before)
  expect(await isResumed(port, session)).toBe(true)
  expect(await statusOf(hub.address.port, '/healthz')).toBe(200)
  server.close()
})

it('S18: rotates the keys of session tickets each week and accepts the previous one for a day', async () => {
  const DAY_MS = 24 * 60 * 60 * 1000
  const weekMs = 2_900 * 7 * DAY_MS
  let nowMs = weekMs - 1
  const listen = async (key = instanceKey): Promise<[port: number, Disposable]> => {
    const server = createServer(tlsOptions(tls)).listen(0, '127.0.0.1')
    useTicketKeys(server, key, () => nowMs)
    await once(server, 'listening')
    return [(server.address() as { port: number }).port, { [Symbol.dispose]: () => server.close() }]
  }
  const [port, first] = await listen()
  using _first = first
  const [otherNode, second] = await listen()
  using _second = second
  const [otherInstance, third] = await listen(purpose => instanceKey(`other ${purpose}`))
  using _third = third

  const old = await sessionOf(port)
  expect(await isResumed(port, old)).toBe(true)
  expect(await isResumed(otherNode, old)).toBe(true)
  expect(await isResumed(otherInstance, old)).toBe(false)
  nowMs = weekMs + DAY_MS - 1
  expect(await isResumed(otherNode, old)).toBe(true)
  const fresh = await sessionOf(port)
  nowMs = weekMs + DAY_MS
  expect(await isResumed(otherNode, old)).toBe(false)
  expect(await isResumed(otherNode, fresh)).toBe(true)
  nowMs = weekMs + 9 * DAY_MS
  expect(await isResumed(otherNode, fresh)).toBe(false)
})

it('S24: refuses TLS 1.1 and prefers TLS 1.3', async () => {
  const server = createServer(tlsOptions(tls)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const versionOf = async (options: ConnectionOptions): Promise<string | null> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    const version = socket.getProtocol()
    socket.destroy()
    return version
  }
  expect(await versionOf({})).toBe('TLSv1.3')
  expect(await versionOf({ maxVersion: 'TLSv1.2' })).toBe('TLSv1.2')
  const old = versionOf({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  await expect(old).rejects.toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
  server.close()
})

it('S39: sums up refused queries, calls above a rate and failed handshakes in one line a minute, and at its end', async () => {
  const { log, named } = capturedLog('info')
  const hub = await testHub({ tls, publicUrl: 'https://localhost:0' }, log)
  const ada = await hub.user()
  const organizationId = await hub.organization(await hub.user())
  await expect(ada.invoke('organizations_QueryMembers', { organizationId })).rejects.toMatchObject({
    status: 403,
  })
  const { port } = hub.address
  const body = JSON.stringify({ email: 'ada@example.test', password: 'not hers' })
  const headers = { 'content-type': 'application/json' }
  for (let n = 0; n < 22; n++)
    await (
      await fetch(`https://127.0.0.1:${port}/api/private/login`, { method: 'POST', body, headers })
    ).text()
  const old = connect({
    port,
    host: '127.0.0.1',
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  await expect(once(old, 'secureConnect')).rejects.toThrow()
  await hub[Symbol.asyncDispose]()
  expect(named('refusals in the last minute')).toMatchObject([
    {
      level: 'info',
      queries: { organizations_QueryMembers: 1 },
      limits: { 'sign-in account': 2 },
      handshakes: { ERR_SSL_UNSUPPORTED_PROTOCOL: 1 },
    },
  ])
})

it('S39: refuses ciphers with CBC by a setting', async () => {
  const cipherOf = async (files: TlsFiles, ciphers?: string): Promise<string> => {
    const server = createServer(tlsOptions(files)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const options = { port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' } as const
    const socket = connect({ ...options, ...(ciphers && { ciphers }) })
    try {
      await once(socket, 'secureConnect')
      return socket.getCipher().name
    } finally {
      socket.destroy()
      server.close()
    }
  }
  const cbc = 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA'
  expect(await cipherOf(tls, cbc)).toBe('ECDHE-ECDSA-AES128-SHA256')
  const strict: TlsFiles = { ...tls, refusesCbc: true }
  await expect(cipherOf(strict, cbc)).rejects.toThrow(/handshake failure/)
  expect(await cipherOf(strict)).toMatch(/GCM|CHACHA20/)
})

it('agrees on keys by a hybrid exchange, and without its post-quantum part by a setting', async () => {
  const connects = async (files: TlsFiles, ecdhCurve: string): Promise<boolean> => {
    const server = createServer(tlsOptions(files)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ecdhCurve })
    try {
      await once(socket, 'secureConnect')
      return true
    } catch {
      return false
    } finally {
      socket.destroy()
      server.close()
    }
  }
  const classic: TlsFiles = { ...tls, isClassicExchange: true }
  expect(await connects(tls, 'X25519MLKEM768')).toBe(true)
  expect(await connects(classic, 'X25519MLKEM768')).toBe(false)
  for (const files of [tls, classic])
    for (const group of ['X25519', 'P-256', 'P-384', 'P-521']) expect(await connects(files, group)).toBe(true)
})

it('keeps the certificate while its folder cannot be read', async () => {
  const folderNow = join(folder, 'now')
  const files = { certPath: join(folderNow, 'hub.pem'), keyPath: join(folderNow, 'hub-key.pem') }
  await symlink(folder, folderNow)
  const { log, lines } = capturedLog()
  const server = createServer(tlsOptions(files)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  using _watch = watchTls(files, instanceKey, [server], log, 20)
  const { port } = server.address() as { port: number }
  const before = await shownBy(port)
  await rm(folderNow)
  await symlink(folderNow, folderNow)
  await until('the failure is logged', () =>
    lines.some(({ msg }) => msg === 'the new certificate cannot be used'),
  )
  expect(await shownBy(port)).toBe(before)
  await rm(folderNow)
  await symlink(folder, folderNow)
  await newFiles('hub')
  await until('the new certificate is used', async () => (await shownBy(port)) !== before)
  server.close()
})

it('names the file and the problem in its error', async () => {
  const other = await newFiles('other')
  const cases: [TlsFiles, RegExp][] = [
    [
      { ...tls, certPath: join(folder, 'none.pem') },
      /^MUSTER_TLS_CERT: found .*none\.pem \(ENOENT\), expected/,
    ],
    [{ ...tls, certPath: tls.keyPath }, /^MUSTER_TLS_CERT: found .*, expected a certificate in PEM\.$/s],
    [{ ...tls, keyPath: tls.certPath }, /^MUSTER_TLS_KEY: found .*, expected a private key in PEM\.$/s],
    [{ ...tls, keyPath: other.keyPath }, /^MUSTER_TLS_KEY: found .*, expected the key of .*hub\.pem\.$/],
  ]
  for (const [files, text] of cases) {
    expect(() => readTls(files)).toThrow(ConfigError)
    expect(() => readTls(files)).toThrow(text)
  }
  expect(() => loadConfig({ MUSTER_TLS_CERT: 'x' })).toThrow(
    'MUSTER_TLS_KEY: found nothing, expected a file because MUSTER_TLS_CERT is set.',
  )
  expect(loadConfig({ MUSTER_TLS_CERT: '/c', MUSTER_TLS_KEY: '/k' })).toMatchObject({
    publicUrl: 'https://localhost:6878',
    tls: { certPath: '/c', keyPath: '/k' },
  })
})

it('reports an expired certificate until a new one is there', async () => {
  const { certificatePem: expired } = await deviceIdentity(new Date('2020-01-01T00:00:00Z'))
  const files = await newFiles('expiring')
  const { log, named } = capturedLog()
  const reasons = new Map<string, string>()
  const readiness = {
    degrade: (part: string, reason: string) => void reasons.set(part, reason),
    restore: (part: string) => void reasons.delete(part),
  }
  const valid = await readFile(files.certPath)
  using _watch = watchExpiry(files, readiness, log, 20)
  expect(reasons.size).toBe(0)
  await writeFile(files.certPath, expired)
  await until('it is reported', async () => reasons.size > 0)
  expect(reasons.get('certificate')).toBe('the certificate of the hub expired at 2020-01-01T00:00:00.000Z')
  await writeFile(files.certPath, valid)
  await until('it is no longer reported', async () => reasons.size === 0)
  expect(named('the certificate of the hub has expired')).toHaveLength(1)
})
