import { newId } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  clearAudit,
  connectDevice,
  failed,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let hub: TestHub
let ada: TestUser
let admin: TestUser

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user()
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(() => clearAudit(hub))

describe('organizations_Create', () => {
  it('makes the caller its administrator', async () => {
    const { organizationId } = await ada.invoke('organizations_Create', { name: '  Harbour  ' })
    expect(await membersOf(organizationId)).toEqual([{ user_id: ada.userId, is_admin: true }])
    const { organizations } = await ada.invoke('organizations_Query', {})
    expect(organizations).toContainEqual({ organizationId, name: 'Harbour' })
    expect(await auditRows(hub)).toEqual([
      {
        action: 'organizations_Create',
        actor: { actor: 'User', userId: ada.userId },
        data: { name: 'Harbour' },
        status: 'Succeeded',
      },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'organizations_Created',
        data: { organizationId },
        organizationId,
        action: 'organizations_Create',
      },
      { event: 'organizations_MemberAdded', data: { organizationId, userId: ada.userId, isAdmin: true } },
    ])
  })

  it('makes the accounts administrators that an administrator of the instance names', async () => {
    const grace = await hub.user()
    const { organizationId } = await admin.invoke('organizations_Create', {
      name: 'Theirs',
      admins: [ada.userId, grace.userId, ada.userId],
      requiresSubscription: true,
    })
    const members = await membersOf(organizationId)
    expect(members.map(member => member.user_id).sort()).toEqual([ada.userId, grace.userId].sort())
    expect(members.every(member => member.is_admin)).toBe(true)
    expect(await auditRows(hub)).toMatchObject([{ data: { name: 'Theirs' }, status: 'Succeeded' }])
    expect(await auditEvents(hub, 'organizations_MemberAdded')).toHaveLength(2)
  })

  it('refuses other callers who name administrators', async () => {
    const error = await failed(ada.invoke('organizations_Create', { name: 'x', admins: [ada.userId] }))
    expect(error).toMatchObject({ kind: 'Forbidden', status: 403 })
    expect(await auditRows(hub)).toMatchObject([
      { data: { name: 'x', admins: [ada.userId] }, status: 'Failed' },
    ])
    expect(await auditEvents(hub)).toEqual([])
  })

  it('creates nothing when a named account is absent', async () => {
    const missing = newId('u')
    const error = await failed(
      admin.invoke('organizations_Create', { name: 'Nowhere', admins: [ada.userId, missing] }),
    )
    expect(error).toMatchObject({ kind: 'Invalid', message: `admins: there is no account ${missing}.` })
    expect(await auditRows(hub)).toMatchObject([{ status: 'Failed' }])
    expect(
      (await admin.invoke('organizations_Query', { filter: { text: 'Nowhere' } })).organizations,
    ).toEqual([])
  })

  it('notifies open consoles of its administrators, which then receive changes in it', async () => {
    await using console = await liveStream(hub, ada)
    const { organizationId } = await admin.invoke('organizations_Create', {
      name: 'Live',
      admins: [ada.userId],
    })
    await until('the notice of the organization', () =>
      console.changes.some(
        change => change.topic === 'organizations' && change.organizationId === organizationId,
      ),
    )
    await until('the notice of a project in it', async () => {
      await hub.project(ada, organizationId)
      return console.changes.some(
        change => change.topic === 'projects' && change.organizationId === organizationId,
      )
    })
  })
})

describe('organizations_Query', () => {
  it('lists all organizations for administrators of the instance and their own for everybody else', async () => {
    const grace = await hub.user()
    const { organizationId } = await grace.invoke('organizations_Create', { name: 'Grace and sons' })
    const mine = await grace.invoke('organizations_Query', {})
    expect(mine).toEqual({ organizations: [{ organizationId, name: 'Grace and sons' }] })
    const all = await admin.invoke('organizations_Query', {})
    expect(all.organizations.length).toBeGreaterThan(1)
    expect(all.organizations).toContainEqual({ organizationId, name: 'Grace and sons' })
    const byToken = await hub.withToken(await hub.userToken(grace))('organizations_Query', {})
    expect(byToken).toEqual(mine)
  })
})

describe('organizations_Delete', () => {
  it('deletes everything in it, closes its connections, and affects no other organization', async () => {
    const { owner, organizationId, projectId, token } = await hub.fleet()
    const other = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    await using bystander = await connectDevice({ url: hub.url, token: other.token })
    const { deviceId } = device
    await device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
    await device.invoke('devices_PublishEvents', { deviceId, events: [event('d_ev_20261121-1203-17czX8X1')] })
    await using console = await liveStream(hub, owner)
    await clearAudit(hub)

    expect(await owner.invoke('organizations_Delete', { organizationId })).toEqual({})

    expect((await device.link.ended).reason).toBe('the organization of this device was deleted')
    await hub.runJob('devices_SweepHistory', {})
    expect(await remainsOf(organizationId, projectId, deviceId)).toEqual({})
    expect(await auditRows(hub)).toMatchObject([
      { action: 'organizations_Delete', data: { organizationId }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      { event: 'organizations_Deleted', data: { organizationId }, organizationId },
    ])
    await until('the notice of the deletion', () =>
      console.changes.some(change => change.topic === 'organizations'),
    )
    const kept = await other.owner.invoke('devices_GetDetails', { deviceId: bystander.deviceId })
    expect(kept.isConnected).toBe(true)
    await expect(connectDevice({ url: hub.url, token })).rejects.toMatchObject({ status: 401 })
  })

  it('is for administrators of the organization and of the instance, not for other members', async () => {
    const { owner, organizationId } = await hub.fleet()
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: ada.userId })
      .execute()
    expect(await failed(ada.invoke('organizations_Delete', { organizationId }))).toMatchObject({
      kind: 'Forbidden',
    })
    expect(await auditRows(hub, 'organizations_Delete')).toMatchObject([{ status: 'Rejected' }])
    await admin.invoke('organizations_Delete', { organizationId })
    expect(await failed(owner.invoke('organizations_Delete', { organizationId }))).toMatchObject({
      kind: 'Forbidden',
    })
  })
})

function membersOf(organizationId: string) {
  return hub.db
    .selectFrom('organization_member')
    .where('organization_id', '=', organizationId)
    .select(['user_id', 'is_admin'])
    .execute()
}

function event(eventId: string) {
  return { eventId, severity: 'Info', body: 'x', attributes: {}, emittedAt: '2026-11-21T12:03:04Z' }
}

/** Counts the rows with one of `ids`, by table and column. Audit tables are skipped, because audit rows are kept. */
async function remainsOf(...ids: string[]): Promise<Record<string, number>> {
  const { rows: columns } = await hub.pool.query<{ table: string; column: string }>(`
    select table_name as table, column_name as column from information_schema.columns
     where table_schema = 'public' and column_name in ('organization_id', 'project_id', 'device_id')
       and table_name not like 'audit_%' and table_name !~ '_\\d{8}$'
       and table_name not like '%_removal'`)
  const remains: Record<string, number> = {}
  for (const { table, column } of columns) {
    const { rows } = await hub.pool.query(`select 1 from "${table}" where ${column} = any ($1)`, [ids])
    if (rows.length > 0) remains[`${table}.${column}`] = rows.length
  }
  expect(columns.length).toBeGreaterThan(10)
  return remains
}
