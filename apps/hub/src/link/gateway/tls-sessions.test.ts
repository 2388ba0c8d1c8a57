import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import {
  connectDevice,
  type DeviceIdentity,
  deviceIdentity,
  type FakeDevice,
  socketOf,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TlsFiles } from '../../platform/config/config.ts'

// A device that resumes a TLS session does not prove again that it has its private key. So the hub reads the device's rights from
// the database at each connect.

let folder: string
let tls: TlsFiles
let hub: TestHub
const settings = { publicUrl: 'https://localhost:0', instanceKey: 'ab'.repeat(32) }

beforeAll(async () => {
  // The hub's certificate in these tests is self-signed.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  folder = await mkdtemp(join(tmpdir(), 'muster-tls-'))
  tls = { certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem') }
  const { certificatePem, keyPem } = await deviceIdentity()
  await writeFile(tls.certPath, certificatePem)
  await writeFile(tls.keyPath, keyPem!)
  hub = await testHub({ tls, ...settings })
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

function connect(
  token: string,
  identity: DeviceIdentity,
  session?: Buffer,
  url = hub.url,
): Promise<FakeDevice> {
  return connectDevice({
    url,
    token,
    identity,
    tls: { cert: identity.certificatePem, key: identity.keyPem!, ...(session && { session }) },
    headers: { 'x-client-cert': undefined },
  })
}

function tlsOf({ webSocket }: FakeDevice): TLSSocket {
  return socketOf(webSocket) as TLSSocket
}

async function certificateIdOf(owner: TestUser, deviceId: string): Promise<string> {
  return (await owner.invoke('devices_GetDetails', { deviceId })).certificates[0]!.certificateId
}

it('prefers AES-128-GCM, the cheapest cipher for small devices', async () => {
  const { token } = await hub.fleet()
  await using device = await connect(token, await deviceIdentity())
  expect(tlsOf(device).getCipher().name).toBe('TLS_AES_128_GCM_SHA256')
})

describe('a resumed session', () => {
  it('is accepted, with the certificate of the first handshake', async () => {
    const { token } = await hub.fleet()
    const identity = await deviceIdentity()
    const first = await connect(token, identity)
    expect(tlsOf(first).isSessionReused()).toBe(false)
    await using again = await connect(token, identity, tlsOf(first).getSession())
    expect(tlsOf(again).isSessionReused()).toBe(true)
    expect(again.deviceId).toBe(first.deviceId)
    await first[Symbol.asyncDispose]()
  })

  it('is accepted by another process with the same instance key, but not with another key', async () => {
    const { token } = await hub.fleet()
    const identity = await deviceIdentity()
    await using first = await connect(token, identity)
    const session = tlsOf(first).getSession()
    for (const [key, isReused] of [
      [settings.instanceKey, true],
      ['cd'.repeat(32), false],
    ] as const) {
      await using other = await testHub({ tls, ...settings, instanceKey: key })
      const theirs = await other.fleet()
      await using device = await connect(theirs.token, identity, session, other.url)
      expect(tlsOf(device).isSessionReused()).toBe(isReused)
    }
  })

  it.each(['Revoked', 'Rejected'] as const)('is refused with a certificate that is %s', async status => {
    const { owner, projectId } = await hub.fleet()
    const { token } = await hub.token(owner, projectId, status === 'Revoked')
    const identity = await deviceIdentity()
    // In the case `Rejected`, the token does not accept certificates automatically, so the first connection of the device would
    // be refused. The device gets its TLS session from a connection to the project `helper`, because session tickets are not
    // bound to a project.
    const helper = await hub.fleet()
    const first = await connect(status === 'Revoked' ? token : helper.token, identity)
    const session = tlsOf(first).getSession()
    if (status === 'Revoked') {
      const certificateId = await certificateIdOf(owner, first.deviceId)
      const from = performance.now()
      await owner.invoke('devices_SetCertificateStatus', { certificateId, status })
      expect(await first.link.ended).toEqual({ kind: 'PeerClose', reason: 'the certificate was revoked' })
      expect(performance.now() - from).toBeLessThan(5_000)
    } else {
      await expect(connect(token, identity, session)).rejects.toMatchObject({ status: 403 })
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
      const certificateId = await certificateIdOf(owner, devices[0]!.deviceId)
      await owner.invoke('devices_SetCertificateStatus', { certificateId, status })
    }
    await expect(connect(token, identity, session)).rejects.toMatchObject({
      status: 403,
      body: `{"kind":"Forbidden","message":"certificate is ${status.toLowerCase()}"}`,
    })
    await first[Symbol.asyncDispose]()
  })

  it('is refused with a deleted token', async () => {
    const { owner, token, tokenId } = await hub.fleet()
    const identity = await deviceIdentity()
    const first = await connect(token, identity)
    const session = tlsOf(first).getSession()
    await owner.invoke('projects_DeleteDeploymentToken', { tokenId })
    await first.link.ended
    await expect(connect(token, identity, session)).rejects.toMatchObject({ status: 401 })
  })
})

describe('a certificate', () => {
  it('that is revoked in one project stays valid in another', async () => {
    const here = await hub.fleet()
    const there = await hub.fleet()
    const identity = await deviceIdentity()
    await using first = await connect(here.token, identity)
    await using second = await connect(there.token, identity)
    const certificateId = await certificateIdOf(here.owner, first.deviceId)
    await here.owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    await first.link.ended
    expect(second.link.isOpen).toBe(true)
    const { certificates } = await there.owner.invoke('devices_GetDetails', { deviceId: second.deviceId })
    expect(certificates).toMatchObject([{ status: 'Active', isShared: false }])
  })

  it('that has expired is refused with its date, both in TLS and in the header', async () => {
    const { owner, projectId, token } = await hub.fleet()
    const identity = await deviceIdentity()
    const device = await connect(token, identity)
    const expired = {
      ...(await deviceIdentity(new Date('2020-02-29T12:00:00Z'))),
      fingerprint: identity.fingerprint,
    }
    const refusal = {
      status: 403,
      body: '{"kind":"Forbidden","message":"certificate expired at 2020-02-29T12:00:00.000Z"}',
    }
    await expect(connect(token, expired)).rejects.toMatchObject(refusal)
    await using plain = await testHub()
    const { token: plainToken } = await plain.fleet()
    await expect(
      connectDevice({ url: plain.url, token: plainToken, identity: expired }),
    ).rejects.toMatchObject(refusal)
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices).toHaveLength(1)
    await device[Symbol.asyncDispose]()
  })

  it('of a thief who knows token and fingerprint stays Pending', async () => {
    const { owner, token } = await hub.fleet()
    const identity = await deviceIdentity()
    await using device = await connect(token, identity)
    // The thief knows the token and the fingerprint, for example from a log, but not the private key.
    const thief = { ...(await deviceIdentity()), fingerprint: identity.fingerprint }
    await expect(connect(token, thief)).rejects.toMatchObject({ status: 403 })
    await expect(connect(token, { ...thief, certificatePem: identity.certificatePem })).rejects.toThrow()
    expect(device.link.isOpen).toBe(true)
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    expect(certificates.map(({ status }) => status).sort()).toEqual(['Active', 'Pending'])
  })
})
