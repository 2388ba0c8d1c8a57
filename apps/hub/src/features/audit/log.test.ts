import { newId } from '@muster/actions'
import { connectDevice, deviceRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Scope } from '../../platform/access/scope.ts'
import { recordEvents } from '../../platform/audit/events.ts'
import { SYSTEM } from '../../platform/pipeline/caller.ts'

let hub: TestHub
let ada: TestUser
let grace: TestUser
let root: TestUser
let organizationId: string
let projectId: string
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user({ displayName: 'Ada Lovelace' })
  grace = await hub.user()
  root = await hub.user({ isAdmin: true, displayName: 'Root' })
  organizationId = await hub.organization(ada, [grace])
  projectId = await hub.project(ada, organizationId)
  deviceId = await deviceRow(hub, projectId, { name: 'crane' })
  await ada.invoke('devices_SetName', { deviceId, name: 'crane-01' })
  await grace.invoke('devices_SetName', { deviceId, name: 'crane-02' })
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Records an audit event of the hub itself and sets its time to `createdAt`. */
async function event(scope: Scope, createdAt: Date): Promise<void> {
  await hub.db.transaction().execute(async tx => {
    await recordEvents(tx, { caller: SYSTEM, scope }, 'users_Deleted', [{ data: { userId: 'u' } }])
    await sql`update audit_event set created_at = ${createdAt} where event_id = (
      select event_id from audit_event order by created_at desc limit 1)`.execute(tx)
  })
}

describe('an audit log', () => {
  it('lists actor, event and action, newest first, with the names of people', async () => {
    const { events } = await ada.invoke('devices_QueryAuditLog', { deviceId })
    expect(events).toMatchObject([
      {
        event: 'devices_NameChanged',
        actor: { actor: 'User', userId: grace.userId },
        actorName: grace.email,
        data: { projectId, deviceId, name: 'crane-02' },
        action: { actionId: expect.stringMatching(/^audit_act_/) },
      },
      { event: 'devices_NameChanged', actorName: 'Ada Lovelace', data: { name: 'crane-01' } },
    ])
    const { actions } = await root.invoke('audit_QueryAuditLogActions', {
      filter: { types: ['devices_SetName'] },
    })
    expect(actions).toMatchObject([
      { status: 'Succeeded', actorName: grace.email, data: { deviceId, name: 'crane-02' } },
      { actionId: events[1]!.action!.actionId, actorName: 'Ada Lovelace' },
    ])
  })

  it('returns the name of a device as actor, and none for a deleted or unnamed device', async () => {
    const { token } = await hub.token(ada, projectId)
    const device = await connectDevice({ url: hub.url, token })
    const logOfDevice = async (): Promise<{ event: string; actorName?: string | undefined }[]> => {
      const filter = { actor: device.deviceId }
      return (await ada.invoke('projects_QueryAuditLog', { projectId, filter })).events
    }
    const before = await logOfDevice()
    expect(before.map(({ event }) => event)).toContain('devices_Created')
    expect(before[0]).not.toHaveProperty('actorName')
    await ada.invoke('devices_SetName', { deviceId: device.deviceId, name: 'winch' })
    expect((await logOfDevice()).map(one => one.actorName)).toEqual(before.map(() => 'winch'))
    await device[Symbol.asyncDispose]()
    await ada.invoke('devices_Delete', { deviceId: device.deviceId })
    expect(await logOfDevice()).toEqual(before)
  })

  it('contains only the events of its organization, project, repository or device', async () => {
    const otherTenant = await hub.user()
    const otherId = await hub.organization(otherTenant)
    const repositoryId = newId('repo')
    await hub.db
      .insertInto('repository')
      .values({ repository_id: repositoryId, organization_id: organizationId, display_name: 'Firmware' })
      .execute()
    await event({ organizationId, repositoryId }, new Date())
    const types = (events: { event: string }[]): string[] => [...new Set(events.map(one => one.event))]
    const ofRepository = await ada.invoke('repositories_QueryAuditLog', { repositoryId })
    expect(types(ofRepository.events)).toEqual(['users_Deleted'])
    const ofOrganization = await ada.invoke('organizations_QueryAuditLog', { organizationId })
    expect(types(ofOrganization.events)).toEqual(
      expect.arrayContaining([
        'organizations_Created',
        'projects_Created',
        'devices_NameChanged',
        'users_Deleted',
      ]),
    )
    expect(JSON.stringify(ofOrganization)).not.toContain(otherId)
    const ofOther = await otherTenant.invoke('organizations_QueryAuditLog', { organizationId: otherId })
    expect(types(ofOther.events)).toEqual(['organizations_MemberAdded', 'organizations_Created'])
    for (const [action, input] of [
      ['organizations_QueryAuditLog', { organizationId }],
      ['projects_QueryAuditLog', { projectId }],
      ['repositories_QueryAuditLog', { repositoryId }],
      ['devices_QueryAuditLog', { deviceId }],
      ['audit_QueryAuditLogEvents', {}],
      ['audit_QueryAuditLogActions', {}],
    ] as const)
      await expect(otherTenant.invoke(action, input as never), action).rejects.toThrow('not permitted')
  })

  it('can be filtered by kind, person, time and outcome', async () => {
    const all = await root.invoke('audit_QueryAuditLogEvents', { limit: 500 })
    const eventsOf = async (filter: object) =>
      (await root.invoke('audit_QueryAuditLogEvents', { limit: 500, filter })).events
    expect(await eventsOf({ types: ['projects_Created', 'organizations_Created'] })).toEqual(
      all.events.filter(one => /^(projects|organizations)_Created$/.test(one.event)),
    )
    const byAda = all.events.filter(({ actor }) => 'userId' in actor && actor.userId === ada.userId)
    for (const actor of [ada.userId, 'LOVELACE', ada.email.slice(3, 12)])
      expect(await eventsOf({ actor }), actor).toEqual(byAda)
    for (const actor of ['%', '_%', "' or true --", newId('u'), 'nobody of that name'])
      expect(await eventsOf({ actor }), actor).toEqual([])
    const middle = all.events[3]!.createdAt
    const [since, until] = [await eventsOf({ since: middle }), await eventsOf({ until: middle })]
    expect(since.length + until.length).toBe(all.events.length)
    expect(since.every(one => one.createdAt >= middle)).toBe(true)
    expect(until.every(one => one.createdAt < middle)).toBe(true)

    await expect(
      grace.invoke('users_Create' as never, { email: 'x@y.z', isAdmin: true } as never),
    ).rejects.toThrow()
    const { actions } = await root.invoke('audit_QueryAuditLogActions', {
      filter: { statuses: ['Rejected'], actor: grace.email },
    })
    expect(actions).toMatchObject([{ action: 'users_Create', status: 'Rejected', actorName: grace.email }])
  })

  it('has pages without gaps or repetitions while the log grows', async () => {
    const count = 120
    const at = new Date()
    // All events have the same time, so their sort order depends on their ids.
    for (let made = 0; made < count; made++) await event({ deviceId, projectId, organizationId }, at)
    const filter = { types: ['users_Deleted'] }
    const ids: string[] = []
    let cursor: string | undefined
    do {
      const page = await ada.invoke('devices_QueryAuditLog', { deviceId, limit: 50, cursor, filter })
      ids.push(...page.events.map(one => one.eventId))
      cursor = page.nextCursor
      await event({ deviceId, projectId, organizationId }, new Date())
    } while (cursor)
    expect(ids).toHaveLength(count)
    expect(new Set(ids).size).toBe(count)
    const oldestFirst = await ada.invoke('devices_QueryAuditLog', { deviceId, limit: 5, sort: 'createdAt' })
    expect(oldestFirst.events[0]).toMatchObject({ data: { name: 'crane-01' } })
  })

  it('returns the newest 1,000 rows for a call without `limit`', async () => {
    await hub.db.executeQuery(
      sql`insert into audit_event (event_id, event, actor, data, project_id, created_at)
        select 'audit_ev_20200101-0000-' || translate((10000000 + n)::text, '0', 'z'), 'projects_NameChanged', '{"actor":"System"}', '{}',
               ${projectId}, '2020-01-01'::timestamptz + n * interval '1 s' from generate_series(1, 1500) n`.compile(
        hub.db,
      ),
    )
    const { events, nextCursor } = await ada.invoke('projects_QueryAuditLog', { projectId })
    expect(events).toHaveLength(1000)
    expect(events.map(one => one.createdAt)).toEqual(
      events
        .map(one => one.createdAt)
        .toSorted()
        .reverse(),
    )
    const rest = await ada.invoke('projects_QueryAuditLog', { projectId, cursor: nextCursor })
    expect(rest.events.length).toBeGreaterThan(500)
    expect(rest.nextCursor).toBeUndefined()
  })
})
