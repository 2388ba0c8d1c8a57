import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { selfSignedPem } from '@muster/link/certificate'
import {
  auditEvents,
  connectDevice,
  type DeviceIdentity,
  deviceIdentity,
  type FakeDevice,
  randomFingerprint,
  renewalInput,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const DAY_MS = 86_400_000

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string
let token: string
let tokenId: string
let device: FakeDevice
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, projectId, token, tokenId } = await hub.fleet())
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  device = await connectDevice({ url: hub.url, token })
  deviceId = device.deviceId
})
afterEach(() => device[Symbol.asyncDispose]())

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS)
const announce = (next: DeviceIdentity, by = device) =>
  by.invoke('devices_AddCertificate', renewalInput(deviceId, device.identity, next)) as Promise<{
    certificateId: string
  }>
const refused = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (error: Error) => error.message,
  )
const sameDevice = ({ certificatePem, keyPem }: DeviceIdentity) => ({
  ...device.identity,
  certificatePem,
  ...(keyPem && { keyPem }),
})
const connect = (identity: DeviceIdentity) => connectDevice({ url: hub.url, token, identity })
const details = () => owner.invoke('devices_GetDetails', { deviceId })
const statuses = async () => (await details()).certificates.map(({ status }) => status)

/** Lets the device announce another certificate today. */
async function aDayLater() {
  await hub.db
    .updateTable('device_certificate')
    .set({ first_seen: inDays(-2) })
    .where('device_id', '=', deviceId)
    .execute()
  await hub.db
    .updateTable('device_certificate_change')
    .set({ changed_at: inDays(-2) })
    .where('device_id', '=', deviceId)
    .execute()
}

describe('a device that announces its next certificate', () => {
  it('D9: connects with it, and the same announcement again changes nothing', async () => {
    const next = await deviceIdentity(inDays(400))
    const { certificateId } = await announce(next)
    expect(await announce(next)).toEqual({ certificateId })
    await using renewed = await connect(sameDevice(next))
    expect(renewed.deviceId).toBe(deviceId)
    const [added, first] = (await details()).certificates
    expect(added).toMatchObject({
      certificateId,
      status: 'Active',
      predecessorId: first!.certificateId,
      expiresAt: new X509Certificate(next.certificatePem).validToDate.toISOString(),
    })
    const events = (await auditEvents(hub, 'devices_CertificateAdded')).filter(
      event => event.deviceId === deviceId,
    )
    expect(events).toHaveLength(2)
    expect(events[1]).toMatchObject({
      actor: { actor: 'Device', deviceId, tokenId },
      data: { projectId, certificateId, status: 'Active', predecessorId: first!.certificateId },
      organizationId,
    })
  })

  it('D9: is refused in a project that does not allow it, as all are that existed before', async () => {
    const set = (isAllowed: boolean) =>
      owner.invoke('projects_SetCertificateRenewal', { projectId, isAllowed })
    const isAllowed = async () =>
      (await owner.invoke('projects_GetDetails', { projectId })).certificateRenewal
    expect(await isAllowed()).toBe(true)
    await set(false)
    await set(false)
    expect(await isAllowed()).toBe(false)
    expect(await refused(announce(await deviceIdentity()))).toContain('may not announce certificates')
    await set(true)
    const changes = await auditEvents(hub, 'projects_CertificateRenewalChanged')
    expect(changes.map(({ data }) => data)).toEqual([
      { projectId, isAllowed: false },
      { projectId, isAllowed: true },
    ])
    await hub.db
      .insertInto('project')
      .values({
        project_id: 'p_2222222222222222222222',
        organization_id: organizationId,
        name: 'Before',
      })
      .execute()
    const before = await owner.invoke('projects_GetDetails', {
      projectId: 'p_2222222222222222222222' as never,
    })
    expect(before.certificateRenewal).toBe(false)
  })

  it('D9: is refused without proof by both keys, for other certificates, and with a signature of another renewal', async () => {
    const next = await deviceIdentity()
    const good = renewalInput(deviceId, device.identity, next)
    const call = (input: object) => refused(device.invoke('devices_AddCertificate', input))
    const withProof = (renewal: object) => call({ ...good, renewal: { ...good.renewal, ...renewal } })
    await using sibling = await connectDevice({ url: hub.url, token })
    const ofSibling = renewalInput(sibling.deviceId, sibling.identity, next)
    const other = renewalInput(deviceId, device.identity, await deviceIdentity())
    const foreignCurrent = renewalInput(deviceId, sibling.identity, next)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const answers = [
      await call({ deviceId, fingerprint: good.fingerprint }),
      await call({ ...good, status: 'Pending' }),
      await call({ ...good, fingerprint: randomFingerprint() }),
      await call(foreignCurrent),
      await call({ ...ofSibling, deviceId }),
      await withProof({ currentSignature: other.renewal.currentSignature }),
      await withProof({ nextSignature: good.renewal.currentSignature }),
      await withProof({ currentSignature: '' }),
      await withProof({ nextCertificate: selfSignedPem(privateKey, 'another') }),
      await withProof({ nextCertificate: 'no certificate' }),
    ]
    expect(answers).toEqual([
      expect.stringContaining('Found no `renewal`'),
      expect.stringContaining('Found the status Pending'),
      expect.stringContaining('another fingerprint'),
      expect.stringContaining('another certificate than the one of this connection'),
      expect.stringContaining('another certificate than the one of this connection'),
      expect.stringContaining('The signature for `currentCertificate`'),
      expect.stringContaining('The signature for `nextCertificate`'),
      expect.stringContaining('The signature for `currentCertificate`'),
      expect.stringContaining('another fingerprint'),
      expect.stringContaining('cannot be read'),
    ])
    expect(await refused(sibling.invoke('devices_AddCertificate', good))).toBe(
      'You are not permitted to do this.',
    )
    expect(await statuses()).toEqual(['Active'])
    // The proof of a device gives a person nothing: a member adds it as by hand.
    await owner.invoke('devices_AddCertificate', good as never)
    expect(await statuses()).toEqual(expect.arrayContaining(['Active', 'Pending']))
  })

  it('D9: is refused a certificate that ends too early, and one that another device has or had blocked', async () => {
    expect(await refused(announce(await deviceIdentity(new Date(Date.now() + 60_000))))).toContain(
      'ends too early',
    )
    expect(await refused(announce(await deviceIdentity(inDays(-1))))).toContain('ends too early')
    const sibling = await connectDevice({ url: hub.url, token })
    expect(await refused(announce(sibling.identity))).toContain('Another device of the project')
    await owner.invoke('devices_Block', { deviceId: sibling.deviceId })
    expect(await refused(announce(sibling.identity))).toContain('blocked in the project')
    expect(await refused(announce(device.identity))).toContain('has this certificate already')
  })

  it('D9: has one certificate a day, and two that have not expired', async () => {
    const day = await Promise.all([1, 2, 3].map(() => deviceIdentity().then(next => refused(announce(next)))))
    expect(day.filter(answer => answer === 'accepted')).toHaveLength(1)
    expect(day.filter(answer => answer.includes('has announced a certificate today'))).toHaveLength(2)
    await aDayLater()
    expect(await refused(announce(await deviceIdentity()))).toBe('accepted')
    await aDayLater()
    expect(await refused(announce(await deviceIdentity()))).toContain('announced 2 certificates')
    await hub.db
      .updateTable('device_certificate')
      .set({ expires_at: inDays(-1) })
      .where('device_id', '=', deviceId)
      .where('predecessor_id', 'is not', null)
      .execute()
    expect(await refused(announce(await deviceIdentity()))).toBe('accepted')
  })

  it('D9: has one accepted that a command of the device has shown before', async () => {
    const next = await deviceIdentity()
    await expect(connect(sameDevice(next))).rejects.toMatchObject({ status: 403 })
    expect(await statuses()).toEqual(expect.arrayContaining(['Active', 'Pending']))
    const { certificateId } = await announce(next)
    expect(await announce(next)).toEqual({ certificateId })
    expect(await statuses()).toEqual(['Active', 'Active'])
    const { certificates } = await owner.invoke('projects_QueryPendingCertificates', { projectId })
    expect(certificates.map(pending => pending.certificateId)).not.toContain(certificateId)
  })

  it('D9: has one a day also of those that a command has shown days before', async () => {
    const shown = [await deviceIdentity(), await deviceIdentity()] as const
    for (const next of shown) await expect(connect(sameDevice(next))).rejects.toMatchObject({ status: 403 })
    await aDayLater()
    expect(await refused(announce(shown[0]))).toBe('accepted')
    expect(await refused(announce(shown[1]))).toContain('has announced a certificate today')
  })

  it('D9: brings back no certificate that a person has revoked or deleted', async () => {
    for (const isRevoked of [true, false]) {
      const next = await deviceIdentity()
      const { certificateId } = await announce(next)
      if (isRevoked) {
        await owner.invoke('devices_SetCertificateStatus', {
          certificateId: certificateId as never,
          status: 'Revoked',
        })
        expect(await refused(announce(next))).toContain('is Revoked')
      }
      await owner.invoke('devices_DeleteCertificate', { certificateId: certificateId as never })
      expect(await refused(announce(next))).toContain('a person deleted it')
      if (isRevoked) await expect(connect(sameDevice(next))).rejects.toMatchObject({ status: 403 })
    }
    expect(await statuses()).toEqual(['Active'])
  })
})

describe('a certificate with successors', () => {
  /** Three generations of certificates, each announced with the one before, and a connection with the last one. */
  async function generations() {
    const ids = [(await details()).certificates[0]!.certificateId]
    const first = device
    for (const _ of [1, 2]) {
      const next = sameDevice(await deviceIdentity())
      ids.push((await announce(next)).certificateId as never)
      await aDayLater()
      device = await connect(next)
    }
    await first[Symbol.asyncDispose]()
    return ids
  }
  const statusesOf = async (ids: string[]) => {
    const { certificates } = await details()
    return ids.map(id => certificates.find(({ certificateId }) => certificateId === id)?.status)
  }

  it.each([
    ['revoked', undefined, ['Revoked', 'Revoked', 'Revoked']],
    ['revoked with keepSuccessors', true, ['Revoked', 'Active', 'Active']],
    ['deleted', undefined, [undefined, 'Revoked', 'Revoked']],
    ['deleted with keepSuccessors', true, [undefined, 'Active', 'Active']],
  ])('D9: that is %s leaves its successors as they should be', async (how, keepSuccessors, expected) => {
    const ids = await generations()
    const certificateId = ids[0]!
    await (how.startsWith('revoked')
      ? owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked', keepSuccessors })
      : owner.invoke('devices_DeleteCertificate', { certificateId, keepSuccessors }))
    expect(await statusesOf(ids)).toEqual(expected)
    if (!keepSuccessors) expect((await device.link.ended).reason).toBe('the certificate was revoked')
    else expect(device.link.isOpen).toBe(true)
  })

  it('D9: revokes them also after one between them was deleted', async () => {
    const ids = await generations()
    await owner.invoke('devices_DeleteCertificate', { certificateId: ids[1]!, keepSuccessors: true })
    await owner.invoke('devices_SetCertificateStatus', { certificateId: ids[0]!, status: 'Revoked' })
    expect(await statusesOf(ids)).toEqual(['Revoked', undefined, 'Revoked'])
  })
})

describe('a certificate that ends within 30 days', () => {
  it('D9: is found by the list and named by the device until it has another one', async () => {
    const { owner, projectId, token } = await hub.fleet()
    const end = inDays(20)
    const identity = await deviceIdentity(end)
    await using soon = await connectDevice({ url: hub.url, token, identity })
    await using _later = await connectDevice({ url: hub.url, token })
    const list = async () =>
      (await owner.invoke('projects_QueryDevices', { projectId, filter: { preset: 'certificateEnds' } }))
        .devices
    const endsAt = new X509Certificate(identity.certificatePem).validToDate.toISOString()
    expect(await list()).toMatchObject([{ deviceId: soon.deviceId, certificateEndsAt: endsAt }])
    expect(await owner.invoke('devices_GetDetails', { deviceId: soon.deviceId as never })).toMatchObject({
      certificateEndsAt: endsAt,
    })
    const next = await deviceIdentity()
    await soon.invoke('devices_AddCertificate', renewalInput(soon.deviceId, identity, next))
    expect(await list()).toEqual([])
  })

  it('D9: has its end recorded when a device shows it that connected before ends were recorded', async () => {
    const certificates = () => hub.db.selectFrom('device_certificate').where('device_id', '=', deviceId)
    await hub.db.updateTable('device_certificate').set({ expires_at: null }).execute()
    await using _again = await connect(device.identity)
    await until('the end is recorded', async () => {
      const { expires_at: end } = await certificates().select('expires_at').executeTakeFirstOrThrow()
      return end?.getUTCFullYear() === 4096
    })
  })
})
