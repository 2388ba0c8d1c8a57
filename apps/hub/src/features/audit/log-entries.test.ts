import { type Action, actions, newId } from '@muster/actions'
import {
  ask,
  connectDevice,
  databaseSession,
  deviceRow,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { allIdFields } from '../../platform/audit/events.ts'
import { resolveFilter } from './entry-filter.ts'
import { entries } from './log-query.ts'

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'

let hub: TestHub
/** Administrator of the organization. */
let ada: TestUser
/** Ordinary member of the organization. */
let grace: TestUser
/** Member of another organization. */
let mallory: TestUser
/** Administrator of the instance, in no organization of this test. */
let root: TestUser
let organizationId: string
let projectId: string
let otherProjectId: string
let deviceId: string
let otherDeviceId: string

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user({ displayName: 'Ada Lovelace' })
  grace = await hub.user({ displayName: 'Grace Hopper' })
  mallory = await hub.user({ displayName: 'Mallory' })
  root = await hub.user({ isAdmin: true, displayName: 'Root' })
  organizationId = await hub.organization(ada, [grace])
  projectId = await hub.project(ada, organizationId)
  otherProjectId = await hub.project(mallory, await hub.organization(mallory))
  deviceId = await deviceRow(hub, projectId, { name: 'crane-01' })
  otherDeviceId = await deviceRow(hub, otherProjectId, { name: 'crane-of-another-tenant' })
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Runs an action over HTTP with the `User-Agent` header of a browser. */
async function act(as: TestUser, action: string, body: object): Promise<number> {
  const headers = { 'user-agent': BROWSER }
  return (await ask(hub, `/api/v1/actions/invoke/${action}`, { as, body, headers })).status
}

const failuresOf = async (as: TestUser, filter: object = {}) =>
  (await as.invoke('organizations_QueryAuditLog', { organizationId, outcome: 'Failed', filter })).events
const instanceFailures = async (filter: object = {}) =>
  (await root.invoke('audit_QueryAuditLogEvents', { outcome: 'Failed', limit: 100, filter })).events

describe('failed actions', () => {
  it('stand among the events of their organization, with their reason, newest first', async () => {
    expect(await act(ada, 'devices_SetName', { deviceId, name: 'crane-02' })).toBe(200)
    expect(await act(grace, 'organizations_InviteMember', { organizationId, email: 'x@y.example' })).toBe(403)
    expect(
      await act(ada, 'organizations_SetMemberIsAdmin', {
        organizationId,
        userId: ada.userId,
        isAdmin: false,
      }),
    ).toBe(409)
    const { events } = await ada.invoke('organizations_QueryAuditLog', {
      organizationId,
      outcome: 'All',
      limit: 3,
    })
    expect(events).toMatchObject([
      {
        event: 'organizations_SetMemberIsAdmin',
        status: 'Failed',
        reason: expect.stringContaining('administrator'),
        eventId: expect.stringMatching(/^audit_act_/),
        actorName: 'Ada Lovelace',
      },
      {
        event: 'organizations_InviteMember',
        status: 'Rejected',
        reason: 'Only administrators of the organization may do this.',
      },
      { event: 'devices_NameChanged', old: { name: 'crane-01' }, data: { name: 'crane-02' } },
    ])
    expect(events[2]).not.toHaveProperty('status')
    const byDefault = await ada.invoke('organizations_QueryAuditLog', { organizationId })
    expect(byDefault.events.every(event => event.status === undefined)).toBe(true)
    expect(byDefault).not.toHaveProperty('subjects')
  })

  it('stand in the logs of project and device too, and name the device that their data lack', async () => {
    const certificateId = newId('d_c')
    await hub.pool.query(
      `insert into device_certificate (certificate_id, device_id, fingerprint, status) values ($1, $2, 'AA', 'Rejected')`,
      [certificateId, deviceId],
    )
    expect(await act(ada, 'devices_SetCertificateStatus', { certificateId, status: 'Active' })).toBe(409)
    for (const log of [
      await grace.invoke('projects_QueryAuditLog', { projectId, outcome: 'Failed' }),
      await grace.invoke('devices_QueryAuditLog', { deviceId, outcome: 'Failed' }),
    ])
      expect(log.events).toMatchObject([
        {
          event: 'devices_SetCertificateStatus',
          status: 'Failed',
          reason: 'A certificate that is Rejected cannot become Active.',
          owners: { projectId, deviceId },
        },
      ])
  })

  it.each([
    ['of another organization', () => mallory],
    ['who administers the instance only', () => root],
  ])('that are rejected for a person %s stand in the log of the instance only', async (_who, person) => {
    const caller = person()
    expect(await act(caller, 'devices_SetName', { deviceId, name: 'stolen' })).toBe(403)
    expect(await failuresOf(ada, { actor: caller.userId })).toEqual([])
    expect(
      (
        await ada.invoke('devices_QueryAuditLog', {
          deviceId,
          outcome: 'Failed',
          filter: { actor: caller.userId },
        })
      ).events,
    ).toEqual([])
    expect(await instanceFailures({ actor: caller.userId })).toMatchObject([
      { event: 'devices_SetName', status: 'Rejected', reason: 'You are not permitted to do this.' },
    ])
  })

  it('of devices and of unauthenticated callers stand in the log of the instance only when rejected', async () => {
    const { token } = await hub.token(ada, projectId)
    await using device = await connectDevice({ url: hub.url, token })
    await expect(
      device.invoke('devices_Delete' as never, { deviceId: device.deviceId } as never),
    ).rejects.toThrow()
    await ask(hub, '/api/v1/actions/invoke/devices_Delete', { body: { deviceId } })
    expect((await failuresOf(ada)).map(({ event }) => event)).not.toContain('devices_Delete')
    const seen = await instanceFailures({ types: ['devices_Delete'] })
    expect(seen.map(({ actor }) => actor.actor).sort()).toEqual(['Anonymous', 'Device'])
  })

  it('can be paged together with events without gaps, in both orders', async () => {
    for (const sort of ['createdAt', '-createdAt'] as const) {
      const ids: string[] = []
      let cursor: string | undefined
      do {
        const page = await ada.invoke('organizations_QueryAuditLog', {
          organizationId,
          outcome: 'All',
          limit: 2,
          cursor,
          sort,
        })
        ids.push(...page.events.map(({ eventId }) => eventId))
        cursor = page.nextCursor
      } while (cursor)
      const whole = await ada.invoke('organizations_QueryAuditLog', { organizationId, outcome: 'All', sort })
      expect(ids).toEqual(whole.events.map(({ eventId }) => eventId))
      expect(new Set(ids).size).toBe(ids.length)
      expect(whole.events.some(({ status }) => status !== undefined)).toBe(true)
    }
  })
})

describe('facts of an entry', () => {
  it('hide address and browser from all but administrators of the organization', async () => {
    await act(grace, 'devices_SetName', { deviceId, name: 'by grace' })
    const newest = async (as: TestUser, of: 'organization' | 'device') =>
      of === 'organization'
        ? (await as.invoke('organizations_QueryAuditLog', { organizationId, limit: 1 })).events[0]
        : (await as.invoke('devices_QueryAuditLog', { deviceId, limit: 1 })).events[0]
    for (const of of ['organization', 'device'] as const) {
      expect(await newest(ada, of)).toMatchObject({ address: '127.0.0.1', browser: BROWSER })
      for (const other of [grace, root]) {
        const entry = await newest(other, of)
        expect(entry).toMatchObject({ event: 'devices_NameChanged' })
        expect(entry).not.toHaveProperty('address')
        expect(entry).not.toHaveProperty('browser')
      }
    }
    const instance = await root.invoke('audit_QueryAuditLogEvents', { outcome: 'All', limit: 500 })
    expect(JSON.stringify(instance)).not.toMatch(/"address"|"browser"/)
  })

  it('never have address and browser of an administrator of the instance', async () => {
    const chief = await hub.user({ isAdmin: true })
    const own = await hub.organization(chief)
    await act(chief, 'organizations_SetName', { organizationId: own, name: 'Own' })
    const { events } = await chief.invoke('organizations_QueryAuditLog', { organizationId: own, limit: 1 })
    expect(events).toMatchObject([{ event: 'organizations_NameChanged' }])
    expect(events[0]).not.toHaveProperty('address')
    const stored = await hub.db
      .selectFrom('audit_event')
      .where('actor_id', '=', chief.userId)
      .selectAll()
      .execute()
    expect(stored.map(({ address, browser }) => [address, browser])).toEqual(stored.map(() => [null, null]))
  })

  it('keep the old value of a property, and of a value above 1 KiB its length and digest', async () => {
    const set = (value: unknown) => ada.invoke('devices_SetProperty', { deviceId, name: 'site', value })
    await set({ pier: 4, odd: '\0' })
    await set('x'.repeat(1024 * 1024 - 2))
    await set(1)
    const { events } = await grace.invoke('devices_QueryAuditLog', {
      deviceId,
      limit: 2,
      filter: { types: ['devices_PropertySet'] },
    })
    expect(events).toMatchObject([
      { old: { value: { bytes: 1024 * 1024, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } } },
      { old: { value: { pier: 4, odd: '\0' } } },
    ])
    const long = 'Firefox/'.repeat(500)
    await ask(hub, '/api/v1/actions/invoke/devices_SetName', {
      as: grace,
      body: { deviceId, name: 'long' },
      headers: { 'user-agent': long },
    })
    const [newest] = (await ada.invoke('devices_QueryAuditLog', { deviceId, limit: 1 })).events
    expect(newest!.browser).toMatch(/^4000 bytes, SHA-256 [0-9a-f]{64}$/)
  })

  it('keep the values before every other change', async () => {
    const created = await ada.invoke('repositories_Create', { organizationId, name: 'images' })
    const { repositoryId } = created as { repositoryId: string }
    const named = await ada.invoke('repositories_CreatePackage', { repositoryId, name: 'gateway' })
    const { packageId } = named as { packageId: string }
    const version = async (): Promise<string> =>
      ((await ada.invoke('repositories_CreateVersion', { packageId, tags: [] })) as { versionId: string })
        .versionId
    const [versionId, later] = [await version(), await version()]
    const { tokenId } = await ada.invoke('projects_CreateDeploymentToken', { projectId, name: 'pier' })
    for (const limits of [{ deviceLimit: 5, newDevicesPerHour: 7 }, { deviceLimit: 6 }])
      await ada.invoke('projects_SetDeploymentTokenLimits', { tokenId, limits })
    for (const kind of ['firmware', undefined])
      await ada.invoke('repositories_SetPackageKind', { packageId, ...(kind && { kind }) })
    for (const metadata of [{ board: 'a' }, { board: 'b' }]) {
      await ada.invoke('repositories_SetPackageMetadata', { packageId, metadata })
      await ada.invoke('repositories_SetVersionMetadata', { versionId, metadata })
    }
    for (const name of ['1.0', '1.1']) await ada.invoke('repositories_SetVersionName', { versionId, name })
    for (const one of [versionId, later])
      await ada.invoke('repositories_TagVersion', { versionId: one, tags: [{ tag: 'latest' }] })
    await ada.invoke('repositories_SetVisibility', { repositoryId, visibility: 'Public' })
    for (const slug of ['images-a', 'images-b'])
      await ada.invoke('repositories_SetSlug', { repositoryId, slug })
    await ada.invoke('repositories_SetDisplayName', { repositoryId, displayName: 'Images' })
    await ada.invoke('organizations_RemoveMember', { organizationId, userId: grace.userId })
    await root.invoke('organizations_AddMember', { organizationId, userId: grace.userId, isAdmin: false })
    await root.invoke('users_SetIsAdmin', { userId: mallory.userId, isAdmin: true })
    await root.invoke('users_SetIsAdmin', { userId: mallory.userId, isAdmin: false })

    const { events } = await root.invoke('audit_QueryAuditLogEvents', { limit: 100 })
    const oldOf = (event: string): unknown => events.find(one => one.event === event)?.old
    expect(oldOf('projects_DeploymentTokenLimitsChanged')).toEqual({
      limits: { deviceLimit: 5, newDevicesPerHour: 7 },
    })
    expect(oldOf('repositories_PackageKindChanged')).toEqual({ kind: 'firmware' })
    expect(oldOf('repositories_PackageMetadataChanged')).toEqual({ metadata: { board: 'a' } })
    expect(oldOf('repositories_PackageVersionMetadataChanged')).toEqual({ metadata: { board: 'a' } })
    expect(oldOf('repositories_PackageVersionNameChanged')).toEqual({ name: '1.0' })
    expect(oldOf('repositories_PackageVersionTagged')).toEqual({ versions: { latest: versionId } })
    expect(oldOf('repositories_VisibilityChanged')).toEqual({ visibility: 'Private' })
    expect(oldOf('repositories_PublicNameChanged')).toEqual({ publicName: 'images-a' })
    expect(oldOf('repositories_DisplayNameChanged')).toEqual({ displayName: 'images' })
    expect(oldOf('organizations_MemberRemoved')).toEqual({
      name: 'Grace Hopper',
      email: grace.email,
      isAdmin: false,
    })
    expect(oldOf('users_SetIsAdmin')).toEqual({ isAdmin: true })
  })

  it('name the subjects of the own organization only, and the last name of a deleted device', async () => {
    const gone = await deviceRow(hub, projectId, { name: 'نافذة-7' })
    await ada.invoke('devices_SetName', { deviceId: gone, name: 'نافذة-8' })
    await ada.invoke('devices_Delete', { deviceId: gone })
    await hub.pool.query(
      `insert into audit_event (event_id, event, actor, data, organization_id, project_id)
       values ('audit_ev_20261121-0800-CchPwQr1', 'devices_NameChanged', '{"actor":"System"}', jsonb_build_object('deviceId', $1::text, 'userId', $2::text), $3, $4)`,
      [otherDeviceId, mallory.userId, organizationId, projectId],
    )
    const { subjects } = await grace.invoke('projects_QueryAuditLog', {
      projectId,
      names: true,
      outcome: 'All',
    })
    expect(subjects![gone]).toEqual({ isDeleted: true, name: 'نافذة-8' })
    expect(subjects![deviceId]).toMatchObject({ organizationId, projectId })
    expect(subjects).not.toHaveProperty([otherDeviceId])
    await act(ada, 'organizations_RemoveMember', { organizationId, userId: mallory.userId })
    const failed = await ada.invoke('organizations_QueryAuditLog', {
      organizationId,
      names: true,
      outcome: 'Failed',
    })
    expect(JSON.stringify(failed.events)).toContain(mallory.userId)
    expect(failed.subjects).not.toHaveProperty([mallory.userId])
  })

  it('S29: resolves only declared ids of events and actions, and no id that a member typed as a name', async () => {
    const absent = newId('d')
    const other = await hub.user()
    for (const name of [other.userId, otherProjectId, otherDeviceId, absent]) {
      await ada.invoke('devices_SetName', { deviceId, name })
      await ada.invoke('projects_CreateDeploymentToken', { projectId, name })
      await ada.invoke('organizations_SetName', { organizationId, name })
      await ada.invoke('devices_SetProperty', { deviceId, name: 'site', value: name })
    }
    await ada.invoke('devices_SetName', { deviceId, name: 'crane-01' })
    await ada.invoke('organizations_SetName', { organizationId, name: 'Test organization' })
    const logs = [
      await ada.invoke('organizations_QueryAuditLog', { organizationId, names: true, outcome: 'All' }),
      await ada.invoke('devices_QueryAuditLog', { deviceId, names: true, outcome: 'All' }),
      await root.invoke('audit_QueryAuditLogActions', { names: true, filter: { actor: ada.userId } }),
    ]
    for (const log of logs) {
      expect(JSON.stringify(log)).toContain(other.userId)
      expect(log.subjects).toHaveProperty([deviceId])
      for (const id of [other.userId, otherProjectId, otherDeviceId, absent])
        expect(log.subjects).not.toHaveProperty([id])
      expect(JSON.stringify(log)).not.toContain(other.email)
    }
  })

  it('S31: searches addresses of members only, and shown names of others', async () => {
    const device = await deviceRow(hub, projectId, { name: 'crane-31' })
    const operator = await hub.user({ isAdmin: true, displayName: 'Olga Operator' })
    const nameless = await hub.user()
    await root.invoke('organizations_AddMember', { organizationId, userId: operator.userId })
    await root.invoke('organizations_AddMember', { organizationId, userId: nameless.userId })
    for (const person of [operator, nameless, ada]) {
      await person.invoke('devices_SetName', { deviceId: device, name: 'crane-31b' })
      await person.invoke('devices_SetProperty', {
        deviceId: device,
        name: 'site',
        value: person.email.length,
      })
    }
    const found = async (text: string) => {
      const log = { organizationId, outcome: 'All' } as const
      const byActor = await grace.invoke('organizations_QueryAuditLog', { ...log, filter: { actor: text } })
      const byText = await grace.invoke('organizations_QueryAuditLog', { ...log, filter: { text } })
      const timeline = await grace.invoke('devices_QueryTimeline', { deviceId: device, filter: { text } })
      return [byActor.events.length, byText.events.length, timeline.entries.length].map(count => count > 0)
    }
    const [all, none] = [Array(3).fill(true), Array(3).fill(false)]
    expect(await found(operator.email.slice(0, 12))).toEqual(all)
    await ada.invoke('organizations_RemoveMember', { organizationId, userId: operator.userId })
    await ada.invoke('organizations_RemoveMember', { organizationId, userId: nameless.userId })
    expect(await found(operator.email.slice(0, 12))).toEqual(none)
    expect(await found(operator.email)).toEqual(none)
    expect(await found('olga')).toEqual(all)
    // The log shows this address in place of a name.
    expect(await found(nameless.email.slice(0, 12))).toEqual(all)
    expect(await found(ada.email)).toEqual(all)
    const filter = { actor: operator.email.slice(0, 12) }
    expect((await root.invoke('audit_QueryAuditLogEvents', { filter })).events).not.toEqual([])
  })

  it('S31: finds members although many people of other tenants have the same name', async () => {
    await hub.pool.query(
      `insert into "user" (user_id, email, display_name)
       select 'u_namesake' || n, 'namesake' || n || '@test.example', 'Zelda ' || n from generate_series(1, 250) n`,
    )
    const zelda = await hub.user({ displayName: 'Zelda' })
    await root.invoke('organizations_AddMember', { organizationId, userId: zelda.userId })
    await zelda.invoke('projects_CreateDeploymentToken', { projectId, name: 'Zelda’s line' })
    const ask = (filter: object) => ada.invoke('organizations_QueryAuditLog', { organizationId, filter })
    for (const filter of [{ actor: 'zelda' }, { text: 'zelda' }])
      expect((await ask(filter)).events.map(({ event }) => event)).toContain(
        'projects_DeploymentTokenCreated',
      )
  })

  it('S29: has ids in every audited field of an action that an event declares as an id', () => {
    const fields = allIdFields()
    for (const { audit, input } of Object.values(actions) as Action[])
      for (const field of audit)
        if (fields.has(field)) {
          const { shape } = input as unknown as { shape: Record<string, z.ZodType> }
          expect(shape[field]!.safeParse('Pier 4').success, field).toBe(false)
        }
  })

  it('call deleted people, tokens, projects and repositories deleted, with their last names where the log has them', async () => {
    const eve = await hub.user({ displayName: 'Eve' })
    const left = await hub.user({ displayName: 'Lefty' })
    for (const { userId } of [eve, left])
      await root.invoke('organizations_AddMember', { organizationId, userId, isAdmin: true })
    const own = await hub.project(eve, organizationId)
    const { tokenId } = await eve.invoke('projects_CreateDeploymentToken', { projectId, name: 'night shift' })
    const { repositoryId } = (await eve.invoke('repositories_Create', {
      organizationId,
      name: 'old-images',
    })) as { repositoryId: string }
    const { packageId } = (await eve.invoke('repositories_CreatePackage', {
      repositoryId,
      name: 'gateway',
    })) as { packageId: string }
    await eve.invoke('projects_DeleteDeploymentToken', { tokenId })
    await eve.invoke('repositories_Delete', { repositoryId })
    await eve.invoke('projects_Delete', { projectId: own })
    await ada.invoke('organizations_RemoveMember', { organizationId, userId: left.userId })
    for (const { userId } of [eve, left]) await root.invoke('users_Delete', { userId })
    // The ids in a failed action come from its caller and need not exist.
    const invented = newId('d')
    expect(await act(mallory, 'devices_SetName', { deviceId: invented, name: 'x' })).toBe(403)

    const ofOrganization = await grace.invoke('organizations_QueryAuditLog', {
      organizationId,
      names: true,
      outcome: 'All',
      limit: 500,
    })
    const gone = { isDeleted: true }
    expect(ofOrganization.subjects).toMatchObject({
      [tokenId]: { ...gone, name: 'night shift' },
      [repositoryId]: { ...gone, name: 'old-images' },
      [own]: gone,
      [left.userId]: { ...gone, name: 'Lefty' },
    })
    for (const id of [eve.userId, packageId]) expect(ofOrganization.subjects![id]).toEqual(gone)
    const instance = await root.invoke('audit_QueryAuditLogEvents', {
      names: true,
      outcome: 'All',
      limit: 500,
    })
    expect(instance.subjects).toMatchObject({ [eve.userId]: { ...gone, name: eve.email } })
    expect(JSON.stringify(instance.events)).toContain(invented)
    expect(instance.subjects).not.toHaveProperty([invented])
  })
})

describe('filters of a log', () => {
  const eventsOf = async (filter: object) =>
    (await ada.invoke('organizations_QueryAuditLog', { organizationId, outcome: 'All', filter })).events

  it('find entries by subject, by part of a name and by an id', async () => {
    const all = await eventsOf({})
    const ofDevice = all.filter(
      ({ data, owners }) => data.deviceId === deviceId || owners?.deviceId === deviceId,
    )
    expect(await eventsOf({ subject: deviceId })).toEqual(ofDevice)
    await ada.invoke('devices_SetName', { deviceId, name: '100%_Kran' })
    const named = await eventsOf({ text: '100%_kran' })
    expect(named.length).toBeGreaterThan(ofDevice.length - 1)
    expect(named.every(({ data, owners }) => [data.deviceId, owners?.deviceId].includes(deviceId))).toBe(true)
    const [newest] = named
    expect(await eventsOf({ text: newest!.eventId })).toEqual([newest])
    expect(await eventsOf({ text: newest!.action!.actionId })).toEqual([newest])
    const { tokenId } = await hub.token(ada, projectId)
    expect(await eventsOf({ subject: tokenId })).toMatchObject([{ event: 'projects_DeploymentTokenCreated' }])
    for (const text of ['_%', "' or true --", 'no such name', otherDeviceId, mallory.email])
      expect(
        (await eventsOf({ text })).filter(({ data }) => data.deviceId === deviceId),
        text,
      ).toEqual([])
    for (const subject of ['nonsense', newId('d'), 'x'.repeat(128)])
      expect(await eventsOf({ subject })).toEqual([])
  })

  it('take times of day in a time zone, past midnight and over a change of the clock', async () => {
    const times = [
      '2026-10-24T15:59:59Z', // 17:59:59 in Berlin, summer time
      '2026-10-24T16:00:00Z', // 18:00
      '2026-10-25T06:59:59Z', // 07:59:59, winter time since 03:00
      '2026-10-25T07:00:00Z', // 08:00
      '2026-10-25T17:00:00Z', // 18:00
    ]
    for (const [index, at] of times.entries())
      await hub.pool.query(
        `insert into audit_event (event_id, event, actor, data, organization_id, created_at)
         values ($1, 'limits_Reached', '{"actor":"System"}', '{}', $2, $3)`,
        [`audit_ev_20261024-0000-CchPwQr${index + 1}`, organizationId, at],
      )
    const within = async (from: string, to: string, timeZone = 'Europe/Berlin') =>
      (await eventsOf({ types: ['limits_Reached'], hours: { from, to, timeZone } })).map(({ createdAt }) =>
        times.indexOf(createdAt.replace('.000Z', 'Z')),
      )
    expect(await within('18:00', '08:00')).toEqual([4, 2, 1])
    expect(await within('08:00', '18:00')).toEqual([3, 0])
    expect(await within('18:00', '08:00', 'UTC')).toEqual([3, 2])
    for (const unknown of ['Mars/Olympus', 'A'])
      await expect(within('18:00', '08:00', unknown)).rejects.toMatchObject({
        status: 409,
        message: `filter.hours.timeZone: found "${unknown}", expected a time zone such as Europe/Berlin.`,
      })
    await expect(within('25:00', '08:00')).rejects.toThrow('expected a time of day')
  })

  it("go by the hub's clock for the last hour", async () => {
    const at = async (createdAt: string, n: number): Promise<void> => {
      await hub.pool.query(
        `insert into audit_event (event_id, event, actor, data, organization_id, created_at)
         values ($1, 'limits_Reached', '{"actor":"System"}', '{}', $2, now() - $3::interval)`,
        [`audit_ev_20261124-0000-CchPwQr${n}`, organizationId, createdAt],
      )
    }
    await at('59 minutes', 1)
    await at('61 minutes', 2)
    const found = await eventsOf({ types: ['limits_Reached'], withinSecs: 3600 })
    expect(found.map(({ eventId }) => eventId)).toEqual(['audit_ev_20261124-0000-CchPwQr1'])
    await expect(eventsOf({ withinSecs: 0 })).rejects.toThrow('not valid')
  })

  it('count entries and failures over their time', async () => {
    const { activity } = await ada.invoke('organizations_QueryAuditLogActivity', { organizationId })
    const listed = await eventsOf({ withinSecs: 24 * 60 * 60 })
    const sum = (field: 'entryCount' | 'failureCount'): number =>
      activity!.bins.reduce((total, bin) => total + bin[field], 0)
    expect(activity).toMatchObject({
      entryCount: listed.length,
      failureCount: listed.filter(({ status }) => status !== undefined).length,
    })
    expect([activity!.bins.length, sum('entryCount'), sum('failureCount')]).toEqual([
      96,
      activity!.entryCount,
      activity!.failureCount,
    ])
    expect(Date.parse(activity!.until) - Date.parse(activity!.from)).toBe(24 * 60 * 60 * 1000)
    const [since, until] = ['2026-10-24T00:00:00Z', '2026-10-28T00:00:00Z']
    const days = await ada.invoke('organizations_QueryAuditLogActivity', {
      organizationId,
      filter: { since, until, types: ['limits_Reached'] },
    })
    // The four days have 96 bins of one hour. An earlier test inserted five events: at 15:59:59 and 16:00:00 on the first day, and at
    // 06:59:59, 07:00:00 and 17:00:00 on the second.
    expect(days.activity!.bins.flatMap(({ entryCount }, bin) => Array(entryCount).fill(bin))).toEqual([
      15, 16, 30, 31, 41,
    ])
    const turned = await ada.invoke('organizations_QueryAuditLogActivity', {
      organizationId,
      filter: { since: until, until: since },
    })
    expect(turned.activity).toMatchObject({ entryCount: 0, failureCount: 0 })
  })

  it('use indexes and never scan the audit tables', async () => {
    await using session = await databaseSession(hub)
    const fill = (table: string, id: string, columns: string, values: string) =>
      session.query(`insert into ${table} (${id}, actor, data, created_at, actor_id, organization_id, project_id, device_id, ${columns})
        select 'x' || n, '{"actor":"System"}', '{}', now() - n * interval '1 minute', 'u_' || n % 500, 'org_' || n % 20, 'p_' || n % 40,
               'd_' || n % 4000, ${values} from generate_series(1, 40000) n`)
    await fill('audit_event', 'event_id', 'event', `'devices_PropertySet' || n % 30`)
    await fill(
      'audit_action',
      'action_id',
      'action, status, node_id, request_id, finished_at',
      `'devices_SetProperty' || n % 30, case n % 50 when 0 then 'Failed' else 'Succeeded' end, 'n', 'r', now()`,
    )
    // The hub stores the ids of organization, project and device only in the rows of failed actions. The generated rows must match,
    // because the planner uses their statistics.
    await session.query(
      `update audit_action set organization_id = null, project_id = null, device_id = null where status = 'Succeeded'`,
    )
    await session.query('analyze audit_event, audit_action')
    const device = newId('d')
    const scope = { organizationId: 'org_3' }
    const LOGS = [
      undefined,
      { column: 'organization_id', id: 'org_3', scope },
      { column: 'project_id', id: 'p_3', scope },
      { column: 'device_id', id: 'd_3', scope },
    ] as const
    const FILTERS = [
      {},
      { actor: ada.userId },
      { actor: 'lovelace' },
      { subject: device },
      { text: 'crane' },
      { text: device },
      { text: 'audit_act_20261121-0800-GdCYExEP' },
      { text: 'job_20261121-0800-GdCYExEP' },
      { subject: newId('d_c') },
      { types: ['devices_PropertySet3', 'devices_SetProperty3'] },
      { withinSecs: 3600 },
      { since: '2026-01-01T00:00:00Z', hours: { from: '18:00', to: '08:00', timeZone: 'Europe/Berlin' } },
    ]
    for (const of of LOGS)
      for (const filter of FILTERS)
        for (const outcome of ['All', 'Failed'] as const) {
          const query = entries(
            await resolveFilter(hub.db, filter, of),
            { outcome, limit: 100, sort: '-createdAt' },
            of,
          )
          const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${query}`.execute(hub.db)
          const plan = rows.map(row => row['QUERY PLAN']).join('\n')
          expect(plan, `${of?.column} ${JSON.stringify(filter)}`).not.toMatch(
            /Seq Scan on audit_(event|action)/,
          )
        }
  })
})

it('names a deleted project whatever the length of its history', async () => {
  const owner = await hub.user()
  const own = await hub.organization(owner)
  const project = await hub.project(owner, own, 'Line with a long history')
  await hub.pool.query(
    `insert into audit_event (event_id, event, actor, data, organization_id, project_id, created_at)
     select 'audit_ev_20261121-0801-' || n, 'projects_NameChanged', '{"actor":"System"}', '{}', $1, $2, now() - interval '1 day'
       from generate_series(1, 1000) n`,
    [own, project],
  )
  await owner.invoke('projects_Delete', { projectId: project })
  const { subjects } = await owner.invoke('organizations_QueryAuditLog', {
    organizationId: own,
    names: true,
    limit: 1,
  })
  expect(subjects![project]).toEqual({ isDeleted: true, name: 'Line with a long history' })
})

describe('the log of actions', () => {
  it('takes the same filters and shows the reason', async () => {
    const { actions } = await root.invoke('audit_QueryAuditLogActions', {
      filter: { statuses: ['Rejected'], actor: grace.userId, subject: organizationId },
    })
    expect(actions).toMatchObject([
      {
        action: 'organizations_InviteMember',
        reason: 'Only administrators of the organization may do this.',
      },
    ])
  })

  it('names the subjects of actions that succeeded or failed', async () => {
    const { actions, subjects, sealing } = await root.invoke('audit_QueryAuditLogActions', {
      filter: { types: ['devices_SetName'] },
      limit: 1,
      names: true,
    })
    expect(actions).toMatchObject([{ status: 'Succeeded', data: { deviceId } }])
    expect(subjects).toMatchObject({ [deviceId]: { name: expect.any(String), projectId } })
    expect(sealing).toBeDefined()
  })
})
