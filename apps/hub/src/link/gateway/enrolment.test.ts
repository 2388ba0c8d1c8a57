import { X509Certificate } from 'node:crypto'
import {
  auditEvents,
  connectDevice,
  type DeviceIdentity,
  databaseSession,
  deviceIdentity,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, describe, expect, it } from 'vitest'

type Fleet = Awaited<ReturnType<TestHub['fleet']>>

const hub = await testHub()
afterAll(() => hub[Symbol.asyncDispose]())

const REFUSED = { status: 403, body: '{"kind":"Forbidden","message":"certificate is pending"}' }

async function devicesOf(owner: TestUser, projectId: string) {
  return (await owner.invoke('projects_QueryDevices', { projectId })).devices
}

async function certificatesOf(owner: TestUser, deviceId: string) {
  const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
  return certificates.map(({ fingerprint, status }) => ({ fingerprint, status }))
}

function fingerprintOf({ certificatePem }: DeviceIdentity): string {
  return new X509Certificate(certificatePem).fingerprint256
}

/** Returns the same device with a new certificate, as after its disk was replaced. */
async function withNewCertificate({ fingerprint }: DeviceIdentity): Promise<DeviceIdentity> {
  return { ...(await deviceIdentity()), fingerprint }
}

describe('a certificate seen for the first time', () => {
  it('of a new device is Active with an auto-accepting token, and the device is created', async () => {
    const { owner, projectId, token, tokenId } = await hub.fleet()
    const identity = await deviceIdentity()
    await using device = await connectDevice({ url: hub.url, token, identity })
    expect(await devicesOf(owner, projectId)).toMatchObject([
      { deviceId: device.deviceId, isConnected: true, pendingCertificatesCount: 0, status: 'healthy' },
    ])
    expect(await certificatesOf(owner, device.deviceId)).toEqual([
      { fingerprint: fingerprintOf(identity), status: 'Active' },
    ])
    const events = await hub.db
      .selectFrom('audit_event')
      .where('device_id', '=', device.deviceId)
      .select(['event', 'actor', 'data'])
      .orderBy('event', 'desc')
      .execute()
    const actor = { actor: 'Device', deviceId: device.deviceId, tokenId }
    expect(events).toMatchObject([
      { event: 'devices_Created', actor, data: { projectId, deviceId: device.deviceId } },
      { event: 'devices_CertificateAdded', actor, data: { status: 'Active' } },
    ])
  })

  it('of a new device is Pending with any other token, until a person accepts it', async () => {
    const { owner, projectId } = await hub.fleet()
    const { token } = await hub.token(owner, projectId, false)
    const identity = await deviceIdentity()
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject(REFUSED)
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject(REFUSED)
    const devices = await devicesOf(owner, projectId)
    expect(devices).toMatchObject([{ isConnected: false, pendingCertificatesCount: 1, status: 'offline' }])
    const { deviceId } = devices[0]!
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(certificates).toHaveLength(1)
    const { certificateId } = certificates[0]!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Active' })
    await using device = await connectDevice({ url: hub.url, token, identity })
    expect(device.deviceId).toBe(deviceId)
    expect(await devicesOf(owner, projectId)).toMatchObject([{ pendingCertificatesCount: 0 }])
  })

  it('is Pending as the second certificate of a device, even with an auto-accepting token', async () => {
    const { owner, projectId, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const second = await withNewCertificate(device.identity)
    await expect(connectDevice({ url: hub.url, token, identity: second })).rejects.toMatchObject(REFUSED)
    expect(await certificatesOf(owner, device.deviceId)).toContainEqual({
      fingerprint: fingerprintOf(second),
      status: 'Pending',
    })
    expect(await devicesOf(owner, projectId)).toMatchObject([
      { deviceId: device.deviceId, isConnected: true, pendingCertificatesCount: 1 },
    ])
  })

  it('is Pending when it was deleted before', async () => {
    const { owner, token } = await hub.fleet()
    const identity = await deviceIdentity()
    const device = await connectDevice({ url: hub.url, token, identity })
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    const { certificateId } = certificates[0]!
    await owner.invoke('devices_DeleteCertificate', { certificateId })
    await device.link.ended
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject(REFUSED)
    expect(await certificatesOf(owner, device.deviceId)).toMatchObject([{ status: 'Pending' }])
  })

  it('is Active when its device was deleted before, because the device is new again', async () => {
    const { owner, projectId, token } = await hub.fleet()
    const identity = await deviceIdentity()
    const before = await connectDevice({ url: hub.url, token, identity })
    await owner.invoke('devices_Delete', { deviceId: before.deviceId })
    await before.link.ended
    await using after = await connectDevice({ url: hub.url, token, identity })
    expect(after.deviceId).not.toBe(before.deviceId)
    expect(await devicesOf(owner, projectId)).toHaveLength(1)
  })

  it('keeps the status that a person gave it before', async () => {
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const known = await withNewCertificate(device.identity)
    const { deviceId } = device
    const fingerprint = fingerprintOf(known).toLowerCase()
    const { certificateId } = await owner.invoke('devices_AddCertificate', { deviceId, fingerprint })
    await expect(connectDevice({ url: hub.url, token, identity: known })).rejects.toMatchObject(REFUSED)
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Active' })
    await using again = await connectDevice({ url: hub.url, token, identity: known })
    expect(again.deviceId).toBe(deviceId)
    expect(await certificatesOf(owner, deviceId)).toHaveLength(2)
  })

  it('on another device of the project gets its own row, and both devices show it as shared', async () => {
    const { owner, token } = await hub.fleet()
    await using first = await connectDevice({ url: hub.url, token })
    const { certificatePem } = first.identity
    const identity = { ...(await deviceIdentity()), certificatePem }
    await using second = await connectDevice({ url: hub.url, token, identity })
    expect(second.deviceId).not.toBe(first.deviceId)
    for (const { deviceId } of [first, second]) {
      const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
      expect(certificates).toMatchObject([{ status: 'Active', isShared: true }])
    }
  })

  it('D2: on other devices names up to five of them, but none on which it is rejected or revoked, or of another project', async () => {
    const { owner, token } = await hub.fleet()
    const identity = await deviceIdentity()
    const { certificatePem } = identity
    const ids: string[] = []
    for (let at = 0; at < 8; at++) {
      await using device = await connectDevice({
        url: hub.url,
        token: at === 7 ? (await hub.fleet()).token : token,
        identity: { ...(await deviceIdentity()), certificatePem },
      })
      ids.push(device.deviceId)
    }
    const certificateOf = async (deviceId: string) =>
      (await owner.invoke('devices_GetDetails', { deviceId })).certificates[0]!
    await owner.invoke('devices_SetName', { deviceId: ids[1]!, name: 'copy' })
    const [first] = ids
    const shared = await certificateOf(first!)
    expect(shared.sharedCount).toBe(6)
    expect(shared.sharedWith).toMatchObject(
      ids
        .slice(1, 6)
        .map((deviceId, at) => ({ deviceId, status: 'Active', ...(at === 0 && { name: 'copy' }) })),
    )
    for (const deviceId of ids.slice(1, 7)) {
      const { certificateId } = await certificateOf(deviceId)
      await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    }
    const alone = await certificateOf(first!)
    expect(alone).not.toHaveProperty('sharedWith')
    expect(alone.isShared).toBe(true)
  })
})

describe('a token whose devices need a certificate of their own', () => {
  const flags = { autoAccept: true, ownCertificate: true }
  const tokenWith = async (
    { owner, projectId }: Fleet,
    own: { autoAccept: boolean; ownCertificate?: boolean },
  ) => owner.invoke('projects_CreateDeploymentToken', { projectId, name: 'Own', flags: own })
  const withCertificate = async (certificatePem: string) => ({ ...(await deviceIdentity()), certificatePem })

  it('D2: makes a certificate that is active on another device Pending, and says on which', async () => {
    const fleet = await hub.fleet()
    const { owner, projectId } = fleet
    const { token } = await tokenWith(fleet, flags)
    await using first = await connectDevice({ url: hub.url, token })
    const copy = await withCertificate(first.identity.certificatePem)
    await expect(connectDevice({ url: hub.url, token, identity: copy })).rejects.toMatchObject(REFUSED)
    const { certificates } = await owner.invoke('projects_QueryPendingCertificates', { projectId })
    expect(certificates).toMatchObject([{ sameCertificate: { deviceId: first.deviceId } }])
    const { deviceId } = certificates[0]!
    const added = (await auditEvents(hub)).filter(({ event }) => event === 'devices_CertificateAdded')
    expect(added.at(-1)).toMatchObject({
      data: { deviceId, status: 'Pending', activeOnDeviceId: first.deviceId },
    })
    const pending = (await owner.invoke('devices_GetDetails', { deviceId })).certificates
    expect(pending).toMatchObject([{ sharedWith: [{ deviceId: first.deviceId, status: 'Active' }] }])
    // The certificate of another device, and one that is no longer active there, are accepted.
    await using other = await connectDevice({ url: hub.url, token })
    const [own] = (await owner.invoke('devices_GetDetails', { deviceId: other.deviceId })).certificates
    await owner.invoke('devices_SetCertificateStatus', {
      certificateId: own!.certificateId,
      status: 'Revoked',
    })
    const next = await withCertificate(other.identity.certificatePem)
    await using accepted = await connectDevice({ url: hub.url, token, identity: next })
    expect(accepted.deviceId).not.toBe(other.deviceId)
  })

  it('D2: accepts one of two new devices with one certificate that connect at once', async () => {
    const fleet = await hub.fleet()
    const tokens = await Promise.all([1, 2].map(() => tokenWith(fleet, flags)))
    const { certificatePem } = await deviceIdentity()
    const results = await Promise.allSettled(
      [0, 1, 0, 1].map(async at =>
        connectDevice({
          url: hub.url,
          token: tokens[at]!.token,
          identity: await withCertificate(certificatePem),
        }),
      ),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) if (result.status === 'fulfilled') await result.value[Symbol.asyncDispose]()
  })

  it('D2: is off without the flag, and stays as it is when a client without it changes the others', async () => {
    const fleet = await hub.fleet()
    const { owner, projectId } = fleet
    const flagsOf = async (tokenId: string) => {
      const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
      return tokens.find(one => one.tokenId === tokenId)!.flags
    }
    const plain = await tokenWith(fleet, { autoAccept: true })
    expect(await flagsOf(plain.tokenId)).toEqual({ autoAccept: true })
    await using first = await connectDevice({ url: hub.url, token: plain.token })
    const copy = await withCertificate(first.identity.certificatePem)
    await using second = await connectDevice({ url: hub.url, token: plain.token, identity: copy })
    expect(second.deviceId).not.toBe(first.deviceId)
    const { tokenId } = await tokenWith(fleet, flags)
    expect(await flagsOf(tokenId)).toEqual(flags)
    const set = (to: object) =>
      owner.invoke('projects_SetDeploymentTokenFlags', { tokenId, flags: to as never })
    await set({ autoAccept: false })
    expect(await flagsOf(tokenId)).toEqual({ autoAccept: false, ownCertificate: true })
    await set({ autoAccept: true, ownCertificate: false })
    expect(await flagsOf(tokenId)).toEqual({ autoAccept: true })
  })
})

describe('devices of different projects', () => {
  it('are different devices although they are one machine', async () => {
    const here = await hub.fleet()
    const there = await hub.fleet()
    const identity = await deviceIdentity()
    await using first = await connectDevice({ url: hub.url, token: here.token, identity })
    await using second = await connectDevice({ url: hub.url, token: there.token, identity })
    expect(second.deviceId).not.toBe(first.deviceId)
    expect(first.link.isOpen).toBe(true)
    expect(await devicesOf(here.owner, here.projectId)).toHaveLength(1)
  })
})

describe('concurrent first connections', () => {
  it('create one device with one certificate', async () => {
    const { owner, projectId, token } = await hub.fleet()
    const identity = await deviceIdentity()
    const devices = await Promise.all(
      Array.from({ length: 8 }, () => connectDevice({ url: hub.url, token, identity, register: false })),
    )
    expect(new Set(devices.map(({ deviceId }) => deviceId)).size).toBe(1)
    expect(await devicesOf(owner, projectId)).toHaveLength(1)
    expect(await certificatesOf(owner, devices[0]!.deviceId)).toHaveLength(1)
    await Promise.all(devices.map(device => device[Symbol.asyncDispose]()))
  })

  it('with different certificates make one of them Active and leave the rest Pending', async () => {
    const { owner, projectId, token } = await hub.fleet()
    const identity = await deviceIdentity()
    const identities = await Promise.all(Array.from({ length: 6 }, () => withNewCertificate(identity)))
    const results = await Promise.allSettled(
      identities.map(identity => connectDevice({ url: hub.url, token, identity })),
    )
    const accepted = results.filter(result => result.status === 'fulfilled')
    expect(accepted).toHaveLength(1)
    for (const { reason } of results.filter(result => result.status === 'rejected'))
      expect(reason).toMatchObject(REFUSED)
    expect(await devicesOf(owner, projectId)).toMatchObject([{ pendingCertificatesCount: 5 }])
    await accepted[0]!.value[Symbol.asyncDispose]()
  })

  it('of 60 devices create 60 devices', async () => {
    const { owner, projectId, token } = await hub.fleet()
    const devices = await Promise.all(
      Array.from({ length: 60 }, () => connectDevice({ url: hub.url, token })),
    )
    const shown = await devicesOf(owner, projectId)
    expect(shown.filter(({ isConnected }) => isConnected)).toHaveLength(60)
    await Promise.all(devices.map(device => device[Symbol.asyncDispose]()))
  })
})

describe('a token changed while a device connects for the first time', () => {
  it('leaves the certificate Pending when automatic acceptance is turned off', async () => {
    const { owner, projectId, token, tokenId } = await hub.fleet()
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from deployment_token where token_id = $1 for update', [tokenId])
    const connecting = connectDevice({ url: hub.url, token }).catch((error: unknown) => error)
    // The look-up has found an auto-accepting token. The enrolment waits for the lock that `session` holds on the row of the
    // token.
    await session.waitingStatements(1)
    await session.query('update deployment_token set auto_accept = false where token_id = $1', [tokenId])
    await session.query('commit')
    expect(await connecting).toMatchObject(REFUSED)
    expect(await devicesOf(owner, projectId)).toMatchObject([{ pendingCertificatesCount: 1 }])
  })

  it('creates no device when it is deleted', async () => {
    const { owner, projectId, token, tokenId } = await hub.fleet()
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('delete from deployment_token where token_id = $1', [tokenId])
    const connecting = connectDevice({ url: hub.url, token }).catch((error: unknown) => error)
    // The look-up has found the token. The enrolment waits until `session` commits the deletion of the token.
    await session.waitingStatements(1)
    await session.query('commit')
    expect(await connecting).toMatchObject({ status: 401 })
    expect(await devicesOf(owner, projectId)).toEqual([])
  })
})
