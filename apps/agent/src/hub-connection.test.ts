import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { agentInstance } from './agent-instance.ts'
import { certificateFingerprint, createDeviceCertificate, type DeviceCertificate } from './certificate.ts'
import { connectHeaders, connectToHub, connectUrl, type HubCredentials } from './hub-connection.ts'
import { FakeHub } from './testing/fake-hub.ts'

const credentials: HubCredentials = {
  hubUrl: 'http://127.0.0.1:1',
  token: 'deployment_x',
  fingerprint: 'd_sk_y',
  certificate: { certificatePem: "-----BEGIN CERTIFICATE-----\nMIIB+/=(it's!*)~\n", keyPem: '' },
  acceptInvalidCertificates: false,
}

describe('connectUrl', () => {
  it.each([
    ['https://hub.example.com', 'wss://hub.example.com/api/v1/connect/ws'],
    ['http://localhost:6878/', 'ws://localhost:6878/api/v1/connect/ws'],
    ['https://me:secret@hub.example.com:8443/prefix?a=b#c', 'wss://hub.example.com:8443/api/v1/connect/ws'],
    ['http://[::1]:80', 'ws://[::1]/api/v1/connect/ws'],
  ])('replaces the path of %s', (hubUrl, expected) => {
    expect(connectUrl(hubUrl).href).toBe(expected)
  })
})

describe('connectHeaders', () => {
  it('contains the certificate over plain HTTP, percent-encoded', () => {
    expect(connectHeaders(credentials, true)).toEqual({
      Authorization: 'Bearer deployment_x',
      'X-Register-Connection': 'true',
      'X-Deployment-Token': 'deployment_x',
      'X-Device-Fingerprint': 'd_sk_y',
      'X-Agent-Instance': agentInstance(),
      'X-Client-Cert': '-----BEGIN%20CERTIFICATE-----%0AMIIB%2B%2F%3D%28it%27s%21%2A%29~%0A',
    })
  })

  it('contains no certificate over TLS', () => {
    const headers = connectHeaders({ ...credentials, hubUrl: 'https://hub' }, false)
    expect(headers).not.toHaveProperty('X-Client-Cert')
    expect(headers['X-Register-Connection']).toBe('false')
    expect(headers).not.toHaveProperty('X-Agent-Instance')
  })
})

describe('connectToHub', () => {
  it('presents the certificate in TLS', async () => {
    await using hub = await FakeHub.start(createDeviceCertificate('hub'))
    const certificate = createDeviceCertificate()
    const options = { ...credentials, hubUrl: hub.url, certificate }
    const { link } = await connectToHub(
      { ...options, acceptInvalidCertificates: true },
      { isRegistered: true },
    )
    await link.open('executor')
    expect(hub.connections[0]!.certificate).toBe(certificateFingerprint(certificate.certificatePem))
    expect(hub.requests[0]).not.toHaveProperty('x-client-cert')
    link.close()
  })

  it('resumes its TLS session on reconnecting, only with the same credentials', async () => {
    await using hub = await FakeHub.start(createDeviceCertificate('hub'))
    const connect = async (certificate: DeviceCertificate, known?: HubCredentials) => {
      const device = known ?? {
        ...credentials,
        hubUrl: hub.url,
        certificate,
        acceptInvalidCertificates: true,
      }
      const { link } = await connectToHub(device, { isRegistered: true })
      await link.open('executor')
      link.close()
      return device
    }
    const [mine, other] = [createDeviceCertificate(), createDeviceCertificate()]
    const device = await connect(mine)
    await connect(mine, device)
    await connect(other)
    expect(hub.connections.map(({ isResumed, certificate }) => [isResumed, certificate])).toEqual([
      [false, certificateFingerprint(mine.certificatePem)],
      [true, certificateFingerprint(mine.certificatePem)],
      [false, certificateFingerprint(other.certificatePem)],
    ])
  })

  it('refuses a hub whose certificate is not trusted', async () => {
    await using hub = await FakeHub.start(createDeviceCertificate('hub'))
    const options = { ...credentials, hubUrl: hub.url, certificate: createDeviceCertificate() }
    await expect(connectToHub(options, { isRegistered: true })).rejects.toThrow(/self-signed|certificate/)
    expect(hub.requests).toEqual([])
  })

  it('reports the refusal of the hub, or of another server at its address', async () => {
    await using hub = await FakeHub.start()
    const connect = () => connectToHub({ ...credentials, hubUrl: hub.url }, { isRegistered: true })
    hub.refusals.push({ status: 403, body: '{"kind":"Forbidden","message":"certificate is pending"}' })
    await expect(connect()).rejects.toMatchObject({ status: 403, reason: 'certificate is pending' })
    hub.refusals.push({ status: 502, body: '<html><body>Bad gateway', headers: { 'retry-after': '3' } })
    await expect(connect()).rejects.toMatchObject({ status: 502, reason: '', retryAfterMs: 3000 })
    hub.refusals.push({ status: 500, body: 'x'.repeat(100_000) })
    await expect(connect()).rejects.toMatchObject({ status: 500, reason: 'x'.repeat(200) })
  })

  it('rejects when its signal is aborted and after its timeout', async () => {
    const mute = createServer(() => {}).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const hubUrl = `http://127.0.0.1:${(mute.address() as AddressInfo).port}`
    const connect = (options: object) =>
      connectToHub({ ...credentials, hubUrl }, { isRegistered: true, ...options })
    await expect(connect({ signal: AbortSignal.timeout(50) })).rejects.toThrow('timeout')
    await expect(connect({ signal: AbortSignal.abort(new Error('over')) })).rejects.toThrow('over')
    await expect(connect({ timeoutMs: 50 })).rejects.toThrow('handshake has timed out')
    mute.close()
  })
})
