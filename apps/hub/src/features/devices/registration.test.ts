import { randomBase58 } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  connectDevice,
  deviceIdentity,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string
let token: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, projectId, token } = await hub.fleet())
})
afterAll(() => hub[Symbol.asyncDispose]())

const newFingerprint = (): string => `d_sk_${randomBase58(44)}`

describe('devices_Create', () => {
  it('registers a device before it connects, and accepts its first certificate', async () => {
    await using console = await liveStream(hub, owner)
    const identity = await deviceIdentity()
    const { fingerprint } = identity
    const { deviceId } = await owner.invoke('devices_Create', { projectId, fingerprint })

    const before = await owner.invoke('devices_GetDetails', { deviceId })
    expect(before).toMatchObject({ isConnected: false, certificates: [], connections: [] })
    expect(before.fingerprintId).toBe(fingerprint.slice(0, 27).replace('d_sk', 'd_pk'))
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices.map(device => device.deviceId)).toContain(deviceId)
    expect(await auditRows(hub, 'devices_Create')).toMatchObject([
      { data: { projectId }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub, 'devices_Created')).toEqual([
      {
        event: 'devices_Created',
        actor: { actor: 'User', userId: owner.userId },
        data: { deviceId, projectId },
        action: 'devices_Create',
        organizationId,
        projectId,
        deviceId,
      },
    ])
    await until('the live notice', () =>
      console.changes.some(change => change.topic === 'devices' && change.deviceId === deviceId),
    )

    await using device = await connectDevice({ url: hub.url, token, identity })
    expect(device.deviceId).toBe(deviceId)
    expect(await auditEvents(hub, 'devices_Created')).toHaveLength(1)
    const { certificates } = await owner.invoke('devices_GetDetails', { deviceId })
    expect(certificates).toMatchObject([{ status: 'Active' }])
  })

  it('refuses the fingerprint of an existing device of the project', async () => {
    await using device = await connectDevice({ url: hub.url, token })
    const made = { projectId, fingerprint: newFingerprint() }
    await owner.invoke('devices_Create', made)
    for (const input of [made, { projectId, fingerprint: device.identity.fingerprint }]) {
      await expect(owner.invoke('devices_Create', input)).rejects.toMatchObject({
        kind: 'Invalid',
        status: 409,
        message: 'The project has a device with this fingerprint already.',
      })
    }
  })

  it('accepts the same fingerprint once in each project', async () => {
    const fingerprint = newFingerprint()
    const other = await hub.project(owner, organizationId)
    const first = await owner.invoke('devices_Create', { projectId, fingerprint })
    const second = await owner.invoke('devices_Create', { projectId: other, fingerprint })
    expect(second.deviceId).not.toBe(first.deviceId)
  })

  it('creates one device from concurrent calls and a concurrent connection', async () => {
    const identity = await deviceIdentity()
    const { fingerprint } = identity
    const calls = Array.from({ length: 8 }, () => owner.invoke('devices_Create', { projectId, fingerprint }))
    const [outcomes, device] = await Promise.all([
      Promise.allSettled(calls),
      connectDevice({ url: hub.url, token, identity }),
    ])
    await using _ = device
    const refused = outcomes.filter(outcome => outcome.status === 'rejected')
    for (const { reason } of refused) expect(reason).toMatchObject({ kind: 'Invalid', status: 409 })
    expect(refused.length).toBeGreaterThanOrEqual(calls.length - 1)
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices.filter(({ deviceId }) => deviceId === device.deviceId)).toHaveLength(1)
    const made = outcomes.find(outcome => outcome.status === 'fulfilled')
    if (made) expect(made.value).toEqual({ deviceId: device.deviceId })
  })

  it('refuses the fingerprint of empty script output', async () => {
    const fingerprint = 'd_sk_bfHieWDWVpvKHqjSMpzD8y1DzfmUwhj3s5VoZMf8HJH9'
    await expect(owner.invoke('devices_Create', { projectId, fingerprint })).rejects.toMatchObject({
      kind: 'Invalid',
      message: 'This is the fingerprint of a script that printed nothing.',
    })
  })

  it.each(['', 'd_sk_', `d_sk_${'1'.repeat(43)}`, `d_pk_${'1'.repeat(22)}`, `d_sk_${'0'.repeat(44)}`])(
    'refuses %j as a fingerprint',
    async fingerprint => {
      await expect(owner.invoke('devices_Create', { projectId, fingerprint })).rejects.toMatchObject({
        kind: 'Invalid',
        issues: [{ path: 'fingerprint' }],
      })
    },
  )
})
