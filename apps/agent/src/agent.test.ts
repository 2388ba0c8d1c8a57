import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { GO_AWAY } from '@muster/link'
import { isRenewalSigned, type RenewalProof } from '@muster/link/certificate-renewal'
import { deviceIdentity } from '@muster/testkit/device'
import { describe, expect, it } from 'vitest'
import { type RunAgentOptions, runAgent } from './agent.ts'
import { createDeviceCertificate } from './certificate.ts'
import { configFromOptions } from './config.ts'
import { createLog } from './log.ts'
import { type FakeCall, FakeHub } from './testing/fake-hub.ts'
import { instantClock } from './testing/instant-clock.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

/** Input with which an agent announces a certificate. */
type Announcement = { deviceId: string; fingerprint: string; renewal: RenewalProof }

const TOKEN = `deployment_${'1'.repeat(66)}`

/** Runs an agent against a fake hub. Disposal stops the agent and waits for its end. */
async function startAgent(hubUrl: string, options: Partial<RunAgentOptions> = {}) {
  const folder = await temporaryFolder()
  const stop = new AbortController()
  const lines: string[] = []
  const connected: string[] = []
  const running = runAgent({
    ...configFromOptions({ hub: hubUrl, token: TOKEN, data: join(folder.path, 'data') }),
    signal: stop.signal,
    log: createLog({ level: 'debug', write: line => lines.push(line) }),
    clock: instantClock(),
    random: () => 0.5,
    onConnected: ({ deviceId }) => connected.push(deviceId),
    ...options,
  })
  return {
    lines,
    connected,
    running,
    stop: () => stop.abort(),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
      await folder[Symbol.asyncDispose]()
    },
  }
}

describe('runAgent', () => {
  it('connects as a device and publishes its system information', async () => {
    await using hub = await FakeHub.start()
    await using agent = await startAgent(hub.url, { hostname: 'shown', clock: instantClockThatWaits() })
    await expect.poll(() => hub.callsOf('devices_SetProperty')).toHaveLength(1)
    expect(agent.connected).toEqual(['d_z7L73xZdkkMgwbAmTVcyXu'])
    const headers = hub.requests[0]!
    expect(headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      'x-deployment-token': TOKEN,
      'x-register-connection': 'true',
      'x-device-fingerprint': expect.stringMatching(/^d_sk_[1-9A-HJ-NP-Za-km-z]{44}$/),
    })
    expect(decodeURIComponent(String(headers['x-client-cert']))).toMatch(/^-----BEGIN CERTIFICATE-----\n/)
    expect(headers).not.toHaveProperty('sec-websocket-extensions')
    expect(headers).not.toHaveProperty('user-agent')
    const { input } = hub.callsOf('devices_SetProperty')[0]!
    expect(input).toMatchObject({
      deviceId: 'd_z7L73xZdkkMgwbAmTVcyXu',
      name: 'dev.nexigon.system.info',
      value: { hostname: 'shown' },
    })
    expect(hub.calls[0]!.name).toBe('actor_GetActor')
  })

  it('publishes again every 30 minutes', async () => {
    await using hub = await FakeHub.start()
    const clock = instantClock()
    await using agent = await startAgent(hub.url, { clock })
    await expect.poll(() => hub.callsOf('devices_SetProperty').length).toBeGreaterThan(3)
    // The agent looks for queued events every 60 s.
    expect(new Set(clock.sleeps)).toEqual(new Set([30 * 60 * 1000, 60 * 1000]))
    expect(agent.connected).toHaveLength(1)
  })

  it('publishes no system information when it is disabled', async () => {
    await using hub = await FakeHub.start()
    await using agent = await startAgent(hub.url, { publishSystemInfo: false })
    await expect.poll(() => agent.connected).toHaveLength(1)
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(hub.calls.map(call => call.name)).toEqual(['actor_GetActor'])
  })

  it('retries refused connections, logs advice, and respects Retry-After', async () => {
    await using hub = await FakeHub.start()
    const body = (message: string) => JSON.stringify({ kind: 'Forbidden', message })
    hub.refusals.push(
      { status: 403, body: body('certificate is pending') },
      { status: 401, body: body('unknown token') },
      { status: 503, body: body('too many devices connect at once'), headers: { 'retry-after': '7' } },
    )
    const delays: number[] = []
    await using agent = await startAgent(hub.url, { onDisconnected: ({ delayMs }) => delays.push(delayMs) })
    await expect.poll(() => agent.connected).toHaveLength(1)
    expect(delays).toEqual([500, 1000, 9000])
    const log = agent.lines.join('')
    expect(log).toContain(
      'warn  certificate is pending: accept it in the console (the hub says 403 "certificate is pending"); next attempt in 0.5 s',
    )
    expect(log).toContain('the token is not accepted')
    expect(log).toContain(
      'the hub refused the connection with 503: too many devices connect at once; next attempt in 9.0 s',
    )
  })

  it('reconnects after a crash, after a Close and after the hub was unreachable', async () => {
    await using hub = await FakeHub.start()
    const reasons: string[] = []
    await using agent = await startAgent(hub.url, {
      onDisconnected: ({ reason }) => reasons.push(reason),
      publishSystemInfo: false,
    })
    await expect.poll(() => agent.connected).toHaveLength(1)
    hub.crash()
    await expect.poll(() => agent.connected).toHaveLength(2)
    hub.link.close('replaced by a newer connection of this device')
    await expect.poll(() => agent.connected).toHaveLength(3)
    expect(reasons[0]).toMatch(/^the connection was lost/)
    expect(reasons[1]).toBe('the hub ended the connection: replaced by a newer connection of this device')
    const fingerprints = new Set(hub.requests.map(headers => headers['x-device-fingerprint']))
    expect(fingerprints.size).toBe(1)
  })

  it('returns at once when the hub asks it to, however often that is', async () => {
    await using hub = await FakeHub.start()
    const delays: number[] = []
    await using agent = await startAgent(hub.url, {
      onDisconnected: ({ delayMs }) => delays.push(delayMs),
      publishSystemInfo: false,
    })
    for (const [index, reason] of Object.values(GO_AWAY).entries()) {
      await expect.poll(() => agent.connected).toHaveLength(index + 1)
      hub.link.close(reason)
    }
    await expect.poll(() => agent.connected).toHaveLength(4)
    expect(delays).toEqual([500, 500, 500])
  })

  it('returns within the time that the hub named, also after several crashes', async () => {
    await using hub = await FakeHub.start()
    hub.returnWithinMs = 2000
    const delays: number[] = []
    await using agent = await startAgent(hub.url, {
      // No connection lasts, as when the hub crashes again soon.
      clock: { ...instantClock(), elapsed: () => 0 },
      onDisconnected: ({ delayMs }) => delays.push(delayMs),
      publishSystemInfo: false,
    })
    for (let crash = 1; crash <= 5; crash++) {
      await expect.poll(() => agent.connected).toHaveLength(crash)
      hub.crash()
    }
    await expect.poll(() => agent.connected).toHaveLength(6)
    expect(delays).toEqual([500, 1000, 1000, 1000, 1000])
    hub.refusals.push({ status: 403, body: '' })
    hub.crash()
    await expect.poll(() => delays).toHaveLength(7)
    expect(delays.slice(5)).toEqual([1000, 30_000])
  })

  it('uses a renewed certificate once it is complete', async () => {
    await using hub = await FakeHub.start()
    await using folder = await temporaryFolder()
    const paths = { certificatePath: join(folder.path, 'cert.pem'), keyPath: join(folder.path, 'key.pem') }
    await using agent = await startAgent(hub.url, { ...paths, publishSystemInfo: false })
    const shown = () => decodeURIComponent(String(hub.requests.at(-1)!['x-client-cert']))
    await expect.poll(() => agent.connected).toHaveLength(1)
    const first = shown()
    const renewed = createDeviceCertificate()
    await writeFile(paths.certificatePath, renewed.certificatePem)
    hub.crash()
    await expect.poll(() => agent.connected).toHaveLength(2)
    expect(shown()).toBe(first)
    expect(agent.lines.join('')).toContain('ssl-key: found')
    // Without an announcement, the next connection uses it.
    hub.errors.devices_AddCertificate = 'The project does not allow this.'
    await writeFile(paths.keyPath, renewed.keyPem)
    await expect.poll(() => agent.lines.join('')).toContain('not announced: The project does not allow this.')
    hub.crash()
    await expect.poll(() => agent.connected).toHaveLength(3)
    expect(shown()).toBe(renewed.certificatePem)
  })

  it('D9: announces a renewed certificate with the keys of both before it uses it', async () => {
    await using hub = await FakeHub.start()
    await using folder = await temporaryFolder()
    const paths = { certificatePath: join(folder.path, 'cert.pem'), keyPath: join(folder.path, 'key.pem') }
    await using agent = await startAgent(hub.url, { ...paths, publishSystemInfo: false })
    await expect.poll(() => agent.connected).toHaveLength(1)
    const first = await readFile(paths.certificatePath, 'utf8')
    const renewed = createDeviceCertificate()
    await writeFile(paths.keyPath, renewed.keyPem)
    await writeFile(paths.certificatePath, renewed.certificatePem)
    await expect.poll(() => hub.callsOf('devices_AddCertificate')).toHaveLength(1)
    const { deviceId, fingerprint, renewal } = hub.callsOf('devices_AddCertificate')[0]!.input as Announcement
    const [current, next] = [first, renewed.certificatePem].map(pem => new X509Certificate(pem))
    expect(fingerprint).toBe(next!.fingerprint256)
    expect(renewal).toMatchObject({ currentCertificate: first, nextCertificate: renewed.certificatePem })
    const signed = { deviceId, currentFingerprint: current!.fingerprint256, nextFingerprint: fingerprint }
    expect(isRenewalSigned(signed, current!.publicKey, renewal.currentSignature)).toBe(true)
    expect(isRenewalSigned(signed, next!.publicKey, renewal.nextSignature)).toBe(true)
    await expect.poll(() => agent.lines.join('')).toContain('announced the next certificate')
    hub.crash()
    await expect.poll(() => agent.connected).toHaveLength(2)
    expect(decodeURIComponent(String(hub.requests.at(-1)!['x-client-cert']))).toBe(renewed.certificatePem)
  })

  it('D9: follows up a self-signed certificate at two thirds of its life, also after it was interrupted', async () => {
    await using hub = await FakeHub.start()
    await using folder = await temporaryFolder()
    const paths = { certificatePath: join(folder.path, 'cert.pem'), keyPath: join(folder.path, 'key.pem') }
    // The test kit makes certificates that begin in 1975.
    const old = await deviceIdentity(new Date(Date.now() + 30 * 86_400_000))
    await writeFile(paths.keyPath, old.keyPem!)
    await writeFile(paths.certificatePath, old.certificatePem)
    const start = () => startAgent(hub.url, { ...paths, publishSystemInfo: false })
    const read = () => readFile(paths.certificatePath, 'utf8')
    {
      await using agent = await start()
      await expect.poll(() => agent.lines.join('')).toContain('announced the next certificate')
    }
    const certificate = await read()
    expect(new X509Certificate(certificate).validToDate.getUTCFullYear()).toBe(4096)
    const [{ input }] = hub.callsOf('devices_AddCertificate') as [FakeCall]
    expect((input as Announcement).renewal.nextCertificate).toBe(certificate)
    expect((await readdir(folder.path)).toSorted()).toEqual(['cert.pem', 'key.pem'])

    // As if the agent had been killed after it put the key into its place.
    await rename(paths.certificatePath, `${paths.certificatePath}.next`)
    await writeFile(paths.certificatePath, old.certificatePem)
    await using again = await start()
    await expect.poll(() => again.connected).toHaveLength(1)
    expect(await read()).toBe(certificate)
    expect(hub.callsOf('devices_AddCertificate')).toHaveLength(1)
  })

  it('reports that no server listens at the address', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    const reasons: string[] = []
    await using agent = await startAgent(`http://127.0.0.1:${port}`, {
      onDisconnected: ({ reason }) => {
        reasons.push(reason)
        if (reasons.length === 3) agent.stop()
      },
    })
    await agent.running
    expect(reasons[0]).toContain('ECONNREFUSED')
    expect(reasons.length).toBeLessThanOrEqual(4)
  })

  it('refuses to run with a user token', async () => {
    await using hub = await FakeHub.start()
    hub.answers.actor_GetActor = '{"actor":{"actor":"UserToken","userId":"u_x","tokenId":"u_pk_x"}}'
    const reasons: string[] = []
    await using agent = await startAgent(hub.url, {
      onDisconnected: ({ reason }) => {
        reasons.push(reason)
        agent.stop()
      },
    })
    await agent.running
    expect(reasons[0]).toContain('takes this connection for UserToken, expected a Device')
    expect(agent.connected).toEqual([])
  })

  it('keeps a connection whose hub refuses the system information', async () => {
    await using hub = await FakeHub.start()
    hub.errors.devices_SetProperty = 'value too large'
    await using agent = await startAgent(hub.url)
    await expect.poll(() => hub.callsOf('devices_SetProperty').length).toBeGreaterThan(1)
    expect(agent.connected).toHaveLength(1)
    expect(agent.lines.join('')).toContain('system information not published: value too large')
  })

  it('forwards to local services over the real connection', async () => {
    await using hub = await FakeHub.start()
    await using agent = await startAgent(hub.url, { publishSystemInfo: false })
    // At the end of the test the hub disconnects while the forward is open. The agent then resets its connection to the
    // service. The resulting socket error is ignored.
    const service = createServer(socket => socket.on('error', () => {}).end('served')).listen(0, '127.0.0.1')
    await once(service, 'listening')
    await expect.poll(() => agent.connected).toHaveLength(1)
    const channel = await hub.link.open(`forward/tcp/${(service.address() as AddressInfo).port}`)
    expect(Buffer.from((await channel.read()) ?? []).toString()).toBe('served')
    await expect(hub.link.open('handler')).rejects.toThrow('unknown endpoint')
    service.close()
  })

  it('sends Close to the hub when its signal is aborted', async () => {
    await using hub = await FakeHub.start()
    await using agent = await startAgent(hub.url, { clock: instantClockThatWaits() })
    await expect.poll(() => agent.connected).toHaveLength(1)
    agent.stop()
    await agent.running
    expect((await hub.link.ended).kind).toBe('PeerClose')
    expect(agent.lines.at(-1)).toContain('stopped')
  })

  it('stops at once, even while it waits or connects', async () => {
    // Starts a server that accepts connections and never answers.
    const mute = createServer(() => {}).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const agent = await startAgent(`http://127.0.0.1:${(mute.address() as AddressInfo).port}`)
    await expect.poll(() => agent.lines.join('')).toContain('connecting to')
    await agent[Symbol.asyncDispose]()
    mute.close()
  })
})

/** A clock whose sleeps last until they are aborted. */
function instantClockThatWaits() {
  return {
    ...instantClock(),
    sleep: (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
      ),
  }
}
