import { once } from 'node:events'
import { connect } from 'node:net'
import { newId } from '@muster/actions'
import {
  ConnectionRefused,
  capturedLog,
  connectDevice,
  deviceIdentity,
  type FakeDeviceOptions,
  liveStream,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'

const { log, lines } = capturedLog()
const hub = await testHub({}, log)
afterAll(() => hub[Symbol.asyncDispose]())

const EMPTY_FINGERPRINT = 'd_sk_bfHieWDWVpvKHqjSMpzD8y1DzfmUwhj3s5VoZMf8HJH9'

/** Connects, expects a refusal, and returns its status, body and log line. */
async function refusalOf(options: Omit<FakeDeviceOptions, 'url'>) {
  const from = lines.length
  const error: unknown = await connectDevice({ url: hub.url, ...options }).catch((error: unknown) => error)
  if (!(error instanceof ConnectionRefused)) throw error ?? new Error('the connection was not refused')
  const line = lines.slice(from).find(({ msg }) => msg === 'connection refused')
  return { status: error.status, body: JSON.parse(error.body) as { kind: string; message: string }, line }
}

function lastRefusalOfToken(tokenId: string) {
  return hub.db
    .selectFrom('deployment_token')
    .where('token_id', '=', tokenId)
    .select(['last_refusal_reason as reason', 'last_refusal_count as count'])
    .executeTakeFirstOrThrow()
}

describe('authentication by token', () => {
  it.each<[string, string, Partial<FakeDeviceOptions['headers'] & object>]>([
    ['no token', 'no bearer token', { authorization: undefined, 'x-deployment-token': undefined }],
    ['another scheme', 'no bearer token', { authorization: 'Basic abc' }],
    ['an empty token', 'no bearer token', { authorization: 'Bearer ' }],
  ])('refuses %s with 401', async (_what, message, headers) => {
    const { status, body, line } = await refusalOf({ token: newId('deployment'), headers })
    expect(status).toBe(401)
    expect(body).toEqual({ kind: 'Forbidden', message })
    expect(line).toMatchObject({
      status: 401,
      reason: message,
      fingerprintId: expect.stringMatching(/^d_pk_/),
    })
  })

  it.each([
    ['an unknown deployment token', newId('deployment')],
    ['a malformed deployment token', 'deployment_tooShort'],
    ['an unknown user token', newId('u_sk')],
    ['an organization token, which this hub does not support', `org_sk_${'1'.repeat(66)}`],
    ['a session token', newId('u_sk').replace('u_sk', 'u_session_sk')],
    ['the name of a member of Object.prototype', 'constructor'],
  ])('refuses %s with 401', async (_what, token) => {
    const { status, body, line } = await refusalOf({ token, headers: { 'x-deployment-token': undefined } })
    expect(status).toBe(401)
    expect(body).toEqual({ kind: 'Forbidden', message: 'unknown token' })
    expect(line).toMatchObject({ status: 401, reason: 'unknown token', remote: '127.0.0.1' })
    expect(JSON.stringify(lines)).not.toContain(token.slice(30) || 'never')
  })

  it('refuses a known token id with a wrong secret, and does not record that at the token', async () => {
    const { token, tokenId } = await hub.fleet()
    const forged = token.slice(0, 'deployment_'.length + 22) + newId('deployment').slice(33)
    const { status, body, line } = await refusalOf({ token: forged })
    expect([status, body.message]).toEqual([401, 'unknown token'])
    expect(line).toMatchObject({ tokenId })
    await refusalOf({ token, headers: { 'x-device-fingerprint': 'd_sk_x' } })
    await until('the later refusal is recorded', async () => (await lastRefusalOfToken(tokenId)).count === 1)
  })

  it('refuses a deleted token', async () => {
    const { owner, token, tokenId } = await hub.fleet()
    await owner.invoke('projects_DeleteDeploymentToken', { tokenId })
    const { status, body, line } = await refusalOf({ token })
    expect([status, body.message]).toEqual([401, 'unknown token'])
    expect(line).toMatchObject({ tokenId, reason: 'unknown token' })
  })

  it.each(['x-deployment-token', 'x-user-token'])(
    'refuses %s that differs from Authorization',
    async header => {
      const { token } = await hub.fleet()
      const { status, body } = await refusalOf({ token, headers: { [header]: newId('deployment') } })
      expect([status, body]).toEqual([
        401,
        { kind: 'Forbidden', message: `${header} differs from Authorization` },
      ])
    },
  )

  it('admits a device that sends its token in Authorization only', async () => {
    const { token } = await hub.fleet()
    await using device = await connectDevice({
      url: hub.url,
      token,
      headers: { 'x-deployment-token': undefined },
    })
    expect(device.deviceId).toMatch(/^d_/)
  })
})

describe('a refused device', () => {
  const garbled = encodeURIComponent(
    '-----BEGIN CERTIFICATE-----\nMIIBbjCCARSgAwIBAgICEjQ=\n-----END CERTIFICATE-----\n',
  )
  it.each<[string, number, string, string, Record<string, string | undefined>]>([
    ['no fingerprint', 400, 'Invalid', 'X-Device-Fingerprint is not', { 'x-device-fingerprint': undefined }],
    [
      'a malformed fingerprint',
      400,
      'Invalid',
      'X-Device-Fingerprint is not',
      { 'x-device-fingerprint': 'd_sk_0' },
    ],
    [
      'the fingerprint of empty output',
      403,
      'Forbidden',
      'the fingerprint script printed nothing',
      { 'x-device-fingerprint': EMPTY_FINGERPRINT },
    ],
    ['no certificate', 403, 'Forbidden', 'no client certificate', { 'x-client-cert': undefined }],
    [
      'a certificate that does not parse',
      400,
      'Invalid',
      'X-Client-Cert does not hold',
      { 'x-client-cert': garbled },
    ],
    [
      'a certificate that is no PEM',
      400,
      'Invalid',
      'X-Client-Cert does not hold',
      { 'x-client-cert': 'MIIB' },
    ],
    [
      'a certificate that is badly encoded',
      400,
      'Invalid',
      'X-Client-Cert does not hold',
      { 'x-client-cert': '%E0%A4%A' },
    ],
    [
      'a certificate that is too long',
      400,
      'Invalid',
      'X-Client-Cert is longer',
      { 'x-client-cert': 'A'.repeat(13_000) },
    ],
  ])('with %s gets an answer, which log and token record', async (_what, status, kind, message, headers) => {
    const { owner, token, tokenId, projectId } = await hub.fleet()
    await using stream = await liveStream(hub, owner)
    const { changes } = stream

    const refusal = await refusalOf({ token, headers })
    expect(refusal).toMatchObject({ status, body: { kind, message: expect.stringContaining(message) } })
    expect(refusal.line).toMatchObject({ tokenId, status, reason: expect.stringContaining(message) })
    await refusalOf({ token, headers })

    const known = await until('both refusals show at the token', async () => {
      const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
      return tokens[0]?.lastRefusal?.count === 2 && tokens[0].lastRefusal
    })
    expect(known.reason).toContain(message)
    expect(Date.now() - Date.parse(known.at)).toBeLessThan(60_000)
    await until('consoles are notified', () => changes.some(({ topic }) => topic === 'tokens'))
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices).toEqual([])
  })

  it('gets 431 when its headers exceed 16 KiB', async () => {
    const { token } = await hub.fleet()
    const headers = { 'x-client-cert': 'A'.repeat(20_000) }
    const error = await connectDevice({ url: hub.url, token, headers }).catch((error: unknown) => error)
    expect(error).toMatchObject({ status: 431 })
  })

  it.each(['Pending', 'Rejected', 'Revoked'] as const)(
    'with a certificate that is %s gets an answer, which log, device and token record',
    async certificateStatus => {
      const { owner, projectId, organizationId } = await hub.fleet()
      const { token, tokenId } = await hub.token(owner, projectId, false)
      const identity = await deviceIdentity()
      const first = await refusalOf({ token, identity })
      expect(first).toMatchObject({
        status: 403,
        body: { kind: 'Forbidden', message: 'certificate is pending' },
      })
      const deviceId = String(first.line?.deviceId)
      const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
      const certificateId = certificates[0]!.certificateId
      if (certificateStatus === 'Revoked')
        await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Active' })
      if (certificateStatus !== 'Pending')
        await owner.invoke('devices_SetCertificateStatus', { certificateId, status: certificateStatus })

      await using stream = await liveStream(hub, owner)
      const { changes } = stream
      const message = `certificate is ${certificateStatus.toLowerCase()}`
      const refusal = await refusalOf({ token, identity })
      expect(refusal).toMatchObject({ status: 403, body: { kind: 'Forbidden', message } })
      expect(refusal.line).toMatchObject({ deviceId, tokenId, status: 403, reason: message })

      const count = certificateStatus === 'Pending' ? 2 : 1
      const known = await until('the refusal shows at the device', async () => {
        const { lastRefusal } = await owner.invoke('devices_GetDetails', { deviceId })
        return lastRefusal?.reason === message && lastRefusal.count === count && lastRefusal
      })
      expect(known.count).toBe(count)
      const { refusals } = await owner.invoke('devices_GetDetails', { deviceId })
      const pending = { reason: 'certificate is pending', address: '127.0.0.1' }
      expect(refusals).toMatchObject([{ reason: message, address: '127.0.0.1' }, pending])
      expect(refusals[0]!.at).toBe(known.at)
      expect(known.since).toBe(refusals[count - 1]!.at)
      const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
      expect(tokens.find(other => other.tokenId === tokenId)?.lastRefusal).toMatchObject({
        reason: message,
        count,
      })
      await until('consoles are notified', () => changes.some(({ topic }) => topic === 'tokens'))
      expect(changes).toContainEqual({ topic: 'devices', organizationId, projectId, deviceId })
    },
  )

  it.each(['Rejected', 'Revoked'] as const)(
    'stays refused after its %s certificate was deleted, until a person adds it again',
    async status => {
      const { owner, projectId } = await hub.fleet()
      const { token } = await hub.token(owner, projectId, status === 'Revoked')
      const identity = await deviceIdentity()
      await connectDevice({ url: hub.url, token, identity }).then(
        device => device[Symbol.asyncDispose](),
        () => {},
      )
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
      const { deviceId } = devices[0]!
      const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
      const { certificateId, fingerprint } = certificates[0]!
      await owner.invoke('devices_SetCertificateStatus', { certificateId, status })
      await owner.invoke('devices_DeleteCertificate', { certificateId })

      const refusal = await refusalOf({ token, identity })
      expect(refusal).toMatchObject({
        status: 403,
        body: { message: `certificate is ${status.toLowerCase()}` },
        line: { deviceId },
      })
      const after = await owner.invoke('devices_GetDetails', { deviceId })
      expect(after.certificates).toEqual([])

      await owner.invoke('devices_AddCertificate', { deviceId, fingerprint, status: 'Active' })
      await using device = await connectDevice({ url: hub.url, token, identity })
      expect(device.deviceId).toBe(deviceId)
    },
  )

  it('shows the number of refusals in a row for one reason and the latest ten, also after concurrent ones', async () => {
    const { owner, projectId } = await hub.fleet()
    const { token, tokenId } = await hub.token(owner, projectId, false)
    const identity = await deviceIdentity()
    const { line } = await refusalOf({ token, identity })
    await Promise.all(Array.from({ length: 49 }, () => refusalOf({ token, identity })))
    await until('all are counted', async () => (await lastRefusalOfToken(tokenId)).count === 50)
    const deviceId = String(line?.deviceId)
    const { lastRefusal, refusals } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(lastRefusal).toMatchObject({ reason: 'certificate is pending', count: 50 })
    expect(refusals).toHaveLength(10)
    const times = refusals.map(({ at }) => Date.parse(at))
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    expect(times[0]).toBe(Date.parse(lastRefusal!.at))
    expect(Date.parse(lastRefusal!.since!)).toBeLessThanOrEqual(times.at(-1)!)

    await refusalOf({ token, identity, headers: { 'x-client-cert': undefined } })
    await until(
      'another reason restarts the count',
      async () => (await lastRefusalOfToken(tokenId)).count === 1,
    )
  })
})

describe('the leaf of a certificate chain', () => {
  it('identifies the device', async () => {
    const { owner, token } = await hub.fleet()
    const identity = await deviceIdentity()
    const issuer = await deviceIdentity()
    const chain = `${identity.certificatePem}\n${issuer.certificatePem}`
    await using device = await connectDevice({
      url: hub.url,
      token,
      identity: { ...identity, certificatePem: chain },
    })
    await using again = await connectDevice({ url: hub.url, token, identity })
    expect(again.deviceId).toBe(device.deviceId)
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    expect(certificates).toHaveLength(1)

    const swapped = `${issuer.certificatePem}\n${identity.certificatePem}`
    const refusal = await refusalOf({ token, identity: { ...identity, certificatePem: swapped } })
    expect(refusal).toMatchObject({ status: 403, body: { message: 'certificate is pending' } })
  })
})

describe('the entry point of the gateway', () => {
  /** Sends raw text and returns everything received until the hub closes the connection. */
  async function exchange(text: string): Promise<string> {
    const socket = connect(hub.address.port, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write(text)
    await once(socket, 'close')
    return Buffer.concat(chunks).toString()
  }
  const upgrade = (path: string, extra = '', method = 'GET'): string =>
    `${method} ${path} HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${extra}\r\n`

  it.each(['/', '/api/v1/connect/wss', '/api/v1/connect/ws/', '//', '/%', '*', '/api/v1/live'])(
    'answers an upgrade to %s with 404',
    async path => {
      const from = lines.length
      const answer = await exchange(upgrade(path))
      expect(answer).toMatch(/^HTTP\/1.1 404 Not Found\r\n/)
      expect(answer).toContain('{"kind":"Invalid","message":"no such endpoint"}')
      expect(lines.slice(from).filter(({ msg }) => msg === 'connection refused')).toMatchObject([
        { status: 404 },
      ])
    },
  )

  it('does not wait for a refused client to end its half of the connection', async () => {
    const socket = connect({ port: hub.address.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => {})
    socket.resume()
    socket.write(upgrade('/'))
    await once(socket, 'end')
    await until('the hub has closed the socket', () => {
      socket.write('x')
      return socket.destroyed
    })
  })

  it('answers a plain GET with 426', async () => {
    const response = await fetch(`${hub.url}/api/v1/connect/ws`)
    expect(response.status).toBe(426)
    expect(response.headers.get('upgrade')).toBe('websocket')
    expect(await response.json()).toMatchObject({ kind: 'Invalid', message: 'Expected a WebSocket upgrade.' })
  })

  it('answers an invalid WebSocket handshake with 400 and a JSON error body', async () => {
    const { token } = await hub.fleet()
    const identity = await deviceIdentity()
    const headers =
      `Authorization: Bearer ${token}\r\nX-Device-Fingerprint: ${identity.fingerprint}\r\n` +
      `X-Client-Cert: ${encodeURIComponent(identity.certificatePem)}\r\n`
    const answer = await exchange(
      upgrade('/api/v1/connect/ws', headers).replace(/Sec-WebSocket-Key.*\r\n/, ''),
    )
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/)
    expect(answer).toMatch(/\{"kind":"Invalid","message":".*Sec-WebSocket-Key.*"\}$/)
  })

  it('accepts any query string', async () => {
    const answer = await exchange(upgrade('/api/v1/connect/ws?x=1'))
    expect(answer).toContain('no bearer token')
  })
})
