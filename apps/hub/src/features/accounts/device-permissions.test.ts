import { newId } from '@muster/actions'
import { deviceRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '../../platform/pipeline/caller.ts'

let hub: TestHub
let owner: TestUser
let member: TestUser
let organizationId: string
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  member = await hub.user()
  organizationId = await hub.organization(owner, [member])
  deviceId = await deviceRow(hub, await hub.project(owner, organizationId))
})
afterAll(() => hub[Symbol.asyncDispose]())

const hasAccess = async (person: TestUser, to = deviceId): Promise<boolean> => {
  const input = { userId: person.userId, deviceId: to }
  const answer = await person.invoke('users_GetDevicePermissions', input)
  expect(await hub.pipeline.run(SYSTEM, 'users_GetDevicePermissions', input as never)).toEqual(answer)
  return answer.hasAccess
}

describe('users_GetDevicePermissions', () => {
  it('returns true for members of the organization of the device and false for everybody else', async () => {
    expect(await hasAccess(owner)).toBe(true)
    expect(await hasAccess(member)).toBe(true)
    expect(await hasAccess(await hub.user())).toBe(false)
    expect(await hasAccess(await hub.user({ isAdmin: true }))).toBe(false)
    const otherTenant = await hub.user()
    await hub.organization(otherTenant)
    expect(await hasAccess(otherTenant)).toBe(false)
  })

  it('returns false for an absent device', async () => {
    expect(await hasAccess(owner, newId('d'))).toBe(false)
  })

  it('returns false once the membership has ended', async () => {
    const leaving = await hub.user()
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: leaving.userId })
      .execute()
    expect(await hasAccess(leaving)).toBe(true)
    await owner.invoke('organizations_RemoveMember', { organizationId, userId: leaving.userId })
    expect(await hasAccess(leaving)).toBe(false)
  })

  it('returns false for a member whose account is not active', async () => {
    const admin = await hub.user({ isAdmin: true })
    const input = { userId: member.userId, deviceId }
    expect(await admin.invoke('users_GetDevicePermissions', input)).toEqual({ hasAccess: true })
    await hub.db.updateTable('user').set({ is_active: false }).where('user_id', '=', member.userId).execute()
    expect(await admin.invoke('users_GetDevicePermissions', input)).toEqual({ hasAccess: false })
  })
})
