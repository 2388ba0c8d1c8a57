import type { CertificateStatus } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  clearAudit,
  connectDevice,
  deviceIdentity,
  deviceRow,
  failed,
  liveStream,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const STATUSES = ['Pending', 'Active', 'Rejected', 'Revoked'] as const
/** Status changes that docs/specification.md, section 4, allows. Setting the present status again changes nothing. */
const EDGES = [
  ['Pending', 'Active'],
  ['Pending', 'Rejected'],
  ['Active', 'Revoked'],
]

let hub: TestHub
let owner: TestUser
let actor: object
let projectId: string
let organizationId: string
let token: string
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, projectId, token } = await hub.fleet())
  actor = { actor: 'User', userId: owner.userId }
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  deviceId = await deviceRow(hub, projectId)
  await clearAudit(hub)
})

async function added(status?: CertificateStatus, fingerprint = randomFingerprint()): Promise<string> {
  return (await owner.invoke('devices_AddCertificate', { deviceId, fingerprint, status })).certificateId
}

async function certificatesNow(of = deviceId) {
  return (await owner.invoke('devices_GetDetails', { deviceId: of })).certificates
}

async function pendingNow(of = deviceId): Promise<number> {
  const { devices } = await owner.invoke('projects_QueryDevices', { projectId, filter: { text: of } })
  return devices[0]!.pendingCertificatesCount
}

function historyOf(certificateId: string) {
  return hub.db
    .selectFrom('device_certificate_change')
    .where('certificate_id', '=', certificateId)
    .select(['status', 'actor'])
    .orderBy('changed_at')
    .execute()
}

describe('devices_AddCertificate', () => {
  it.each([undefined, null, ...STATUSES])('adds a certificate with the status %s', async status => {
    await using console = await liveStream(hub, owner)
    const fingerprint = randomFingerprint()
    const { certificateId } = await owner.invoke('devices_AddCertificate', { deviceId, fingerprint, status })
    const expected = status ?? 'Pending'
    expect(await certificatesNow()).toMatchObject([{ certificateId, fingerprint, status: expected }])
    expect(await pendingNow()).toBe(expected === 'Pending' ? 1 : 0)
    expect(await historyOf(certificateId)).toEqual([{ status: expected, actor }])
    expect(await auditRows(hub)).toEqual([
      {
        action: 'devices_AddCertificate',
        actor,
        data: { deviceId, fingerprint, ...(status && { status }) },
        status: 'Succeeded',
      },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'devices_CertificateAdded',
        data: { projectId, deviceId, certificateId, status: expected },
        organizationId,
        projectId,
        deviceId,
      },
    ])
    await until('the live notice', () => {
      const topics = console.changes
        .filter(change => change.deviceId === deviceId)
        .map(change => change.topic)
      return topics.includes('certificates') && topics.includes('devices')
    })
  })

  it('compares fingerprints regardless of letter case', async () => {
    const fingerprint = randomFingerprint()
    const certificateId = await added('Active', fingerprint.toLowerCase())
    const error = await failed(added('Pending', fingerprint))
    expect(error).toMatchObject({ kind: 'Invalid', status: 409 })
    expect(error.message).toContain(certificateId)
    expect(await auditRows(hub)).toMatchObject([{ status: 'Succeeded' }, { status: 'Failed' }])
  })

  it('adds a certificate once when concurrent calls add it', async () => {
    const fingerprint = randomFingerprint()
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => added('Pending', fingerprint)))
    const refused = outcomes.filter(outcome => outcome.status === 'rejected')
    expect(refused).toHaveLength(3)
    for (const { reason } of refused) expect(reason).toMatchObject({ kind: 'Invalid', status: 409 })
    expect(await certificatesNow()).toHaveLength(1)
    expect(await pendingNow()).toBe(1)
  })

  it('admits a device with an active certificate through a token without automatic acceptance', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const strict = await hub.token(owner, projectId, false)
    const { identity } = device
    await using again = await connectDevice({ url: hub.url, token: strict.token, identity })
    expect(again.deviceId).toBe(device.deviceId)
  })
})

describe('devices_SetCertificateStatus', () => {
  const pairs = STATUSES.flatMap(from => STATUSES.map(to => [from, to] as const))
  const isEdge = (from: string, to: string): boolean => EDGES.some(edge => edge[0] === from && edge[1] === to)

  it.each(pairs.filter(([from, to]) => isEdge(from, to)))('changes from %s to %s', async (from, to) => {
    const certificateId = await added(from)
    await clearAudit(hub)
    await using console = await liveStream(hub, owner)
    expect(await owner.invoke('devices_SetCertificateStatus', { certificateId, status: to })).toEqual({})
    expect(await certificatesNow()).toMatchObject([{ certificateId, status: to }])
    expect(await pendingNow()).toBe(0)
    expect(await historyOf(certificateId)).toEqual([
      { status: from, actor },
      { status: to, actor },
    ])
    expect(await auditRows(hub)).toEqual([
      {
        action: 'devices_SetCertificateStatus',
        actor,
        data: { certificateId, status: to },
        status: 'Succeeded',
      },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'devices_CertificateStatusChanged',
        data: { projectId, deviceId, certificateId, status: to },
        projectId,
        deviceId,
      },
    ])
    await until('the live notice', () => console.changes.some(change => change.topic === 'certificates'))
  })

  it.each(pairs.filter(([from, to]) => from !== to && !isEdge(from, to)))(
    'refuses to change from %s to %s',
    async (from, to) => {
      const certificateId = await added(from)
      await clearAudit(hub)
      const error = await failed(owner.invoke('devices_SetCertificateStatus', { certificateId, status: to }))
      expect(error).toMatchObject({
        kind: 'Invalid',
        status: 409,
        message: `A certificate that is ${from} cannot become ${to}.`,
      })
      expect(await certificatesNow()).toMatchObject([{ certificateId, status: from }])
      expect(await historyOf(certificateId)).toHaveLength(1)
      expect(await auditRows(hub)).toMatchObject([{ status: 'Failed' }])
      expect(await auditEvents(hub)).toEqual([])
    },
  )

  it.each(STATUSES)('does nothing when the status is %s already', async status => {
    const certificateId = await added(status)
    await clearAudit(hub)
    expect(await owner.invoke('devices_SetCertificateStatus', { certificateId, status })).toEqual({})
    expect(await historyOf(certificateId)).toHaveLength(1)
    expect(await auditEvents(hub)).toEqual([])
    expect(await auditRows(hub)).toMatchObject([{ status: 'Succeeded' }])
  })

  it('closes the connections of a revoked certificate, and no others', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    await using bystander = await connectDevice({ url: hub.url, token })
    const [certificate] = await certificatesNow(device.deviceId)
    const { certificateId } = certificate!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    expect((await device.link.ended).reason).toBe('the certificate was revoked')
    expect(bystander.link.isOpen).toBe(true)
    const { identity } = device
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject({
      status: 403,
      body: expect.stringContaining('certificate is revoked'),
    })
  })

  it.each([
    ['Active', 'admits', undefined],
    ['Rejected', 'refuses', 'certificate is rejected'],
  ] as const)('set to %s %s a device that was pending', async (status, _what, refusal) => {
    const strict = await hub.token(owner, projectId, false)
    const identity = await deviceIdentity()
    const connect = () => connectDevice({ url: hub.url, token: strict.token, identity })
    const pending = { status: 403, body: expect.stringContaining('certificate is pending') }
    await expect(connect()).rejects.toMatchObject(pending)
    const fingerprintId = identity.fingerprint.slice(5, 27)
    const row = await hub.db
      .selectFrom('device')
      .where('fingerprint_id', '=', `d_pk_${fingerprintId}`)
      .select('device_id')
      .executeTakeFirstOrThrow()
    expect(await pendingNow(row.device_id)).toBe(1)
    await expect(connect()).rejects.toMatchObject(pending)
    const [certificate, ...others] = await certificatesNow(row.device_id)
    expect(others).toEqual([])
    await owner.invoke('devices_SetCertificateStatus', { certificateId: certificate!.certificateId, status })
    expect(await pendingNow(row.device_id)).toBe(0)
    if (refusal) {
      await expect(connect()).rejects.toMatchObject({ status: 403, body: expect.stringContaining(refusal) })
      return
    }
    await using device = await connect()
    expect(device.deviceId).toBe(row.device_id)
  })

  it('counts pending certificates correctly under concurrent changes', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => added()))
    expect(await pendingNow()).toBe(12)
    await Promise.all(
      ids.map((certificateId, index) => {
        if (index % 3 === 0)
          return owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Active' })
        if (index % 3 === 1) return owner.invoke('devices_DeleteCertificate', { certificateId })
        return added()
      }),
    )
    expect(await pendingNow()).toBe(8)
    expect((await certificatesNow()).filter(({ status }) => status === 'Pending')).toHaveLength(8)
  })
})

describe('devices_DeleteCertificate', () => {
  it.each(STATUSES)('deletes a certificate that is %s', async status => {
    const certificateId = await added(status)
    await clearAudit(hub)
    await using console = await liveStream(hub, owner)
    expect(await owner.invoke('devices_DeleteCertificate', { certificateId })).toEqual({})
    expect(await certificatesNow()).toEqual([])
    expect(await pendingNow()).toBe(0)
    expect((await historyOf(certificateId)).map(change => change.status)).toEqual([status, 'Deleted'])
    expect(await auditRows(hub)).toEqual([
      { action: 'devices_DeleteCertificate', actor, data: { certificateId }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'devices_CertificateDeleted',
        data: { projectId, deviceId, certificateId },
        projectId,
        deviceId,
      },
    ])
    await until('the live notice', () => console.changes.some(change => change.topic === 'certificates'))
    const tombstones = await hub.db
      .selectFrom('device_certificate_tombstone')
      .where('device_id', '=', deviceId)
      .select('status')
      .execute()
    const stays = status === 'Rejected' || status === 'Revoked'
    expect(tombstones).toEqual(stays ? [{ status }] : [])
  })

  it('closes the connections of the certificate, which is pending when the device returns', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const [certificate] = await certificatesNow(device.deviceId)
    await owner.invoke('devices_DeleteCertificate', { certificateId: certificate!.certificateId })
    expect((await device.link.ended).reason).toBe('the certificate was deleted')
    const { identity, deviceId: id } = device
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject({
      status: 403,
      body: expect.stringContaining('certificate is pending'),
    })
    const [again] = await certificatesNow(id)
    expect(again).toMatchObject({ status: 'Pending', fingerprint: certificate!.fingerprint })
    await owner.invoke('devices_SetCertificateStatus', {
      certificateId: again!.certificateId,
      status: 'Active',
    })
    await using back = await connectDevice({ url: hub.url, token, identity })
    expect(back.deviceId).toBe(id)
  })

  it('refuses a revoked certificate after its deletion until an administrator adds it by hand', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const { identity, deviceId: id } = device
    const [certificate] = await certificatesNow(id)
    const { certificateId, fingerprint } = certificate!
    await owner.invoke('devices_SetCertificateStatus', { certificateId, status: 'Revoked' })
    await owner.invoke('devices_DeleteCertificate', { certificateId })
    await device.link.ended
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject({
      status: 403,
      body: expect.stringContaining('certificate is revoked'),
    })
    expect(await certificatesNow(id)).toEqual([])
    const member = await hub.user()
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: member.userId })
      .execute()
    await expect(
      member.invoke('devices_AddCertificate', { deviceId: id, fingerprint }),
    ).rejects.toMatchObject({
      kind: 'Forbidden',
    })
    await expect(connectDevice({ url: hub.url, token, identity })).rejects.toMatchObject({ status: 403 })
    await owner.invoke('devices_AddCertificate', { deviceId: id, fingerprint, status: 'Active' })
    await using back = await connectDevice({ url: hub.url, token, identity })
    expect(back.deviceId).toBe(id)
  })
})
