import { type ActionInput, type ActionOutput, newDatedId, newId } from '@muster/actions'
import {
  connectDevice,
  databaseSession,
  deviceRow,
  type FakeDevice,
  failed,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeviceCaller } from '../../platform/pipeline/caller.ts'
import { auditSource } from './audit-source.ts'
import type { Reader } from './budget.ts'
import { connectionSource } from './connection-source.ts'
import { eventSource } from './event-source.ts'
import { followedTags } from './followed-tags.ts'
import { propertySource } from './property-source.ts'
import { tagSource } from './tag-source.ts'

type Output = ActionOutput<'devices_QueryTimeline'>
type Entry = Output['entries'][number]
type Filter = NonNullable<ActionInput<'devices_QueryTimeline'>['filter']>

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string
let tokenId: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, projectId, tokenId } = await hub.fleet())
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Short text for an entry, so that the tests can compare whole timelines. */
function wordsOf(entry: Entry): string {
  switch (entry.type) {
    case 'event':
      return `${entry.severity} ${JSON.stringify(entry.body)}`
    case 'connected':
      return `connected, offline for ${entry.offlineSecs ?? '?'} s`
    case 'disconnected':
      return `${entry.endReason} after ${entry.connectedSecs} s`
    case 'property':
      return `${entry.actor.actor} ${entry.name} ${JSON.stringify(entry.before?.value)} ${JSON.stringify(entry.now.value)}`
    case 'audit':
      return `${entry.actor.actor} ${entry.event}`
    case 'tag':
      return `${entry.details?.actorName ?? 'somebody'} moved ${entry.path}`
  }
}

async function timelineOf(deviceId: string, filter: Filter = {}, as = owner): Promise<Output> {
  return as.invoke('devices_QueryTimeline', { deviceId, filter, limit: 200, withCounts: true })
}

/** All entries, read in pages of `limit`. */
async function pagesOf(deviceId: string, limit: number, filter: Filter = {}): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await owner.invoke('devices_QueryTimeline', { deviceId, limit, cursor, filter })
    entries.push(...page.entries)
    cursor = page.nextCursor
    if (cursor === undefined) return entries
  }
}

const MINUTE_MS = 60_000
const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * MINUTE_MS)

async function eventRow(deviceId: string, at: Date, severity: string, body: unknown, category?: string) {
  await hub.db
    .insertInto('device_event')
    .values({
      device_id: deviceId,
      event_id: newDatedId('d_ev', at),
      event_day: at.toISOString().slice(0, 10) as never,
      severity,
      category: category ?? null,
      body: JSON.stringify(body),
      attributes: '{}',
      emitted_at: at,
    })
    .execute()
}

async function changeRow(
  deviceId: string,
  at: Date,
  name: string,
  version: number,
  value: unknown,
  actor: object,
) {
  await hub.db
    .insertInto('device_property_change')
    .values({
      device_id: deviceId,
      name,
      version,
      value: value === undefined ? null : JSON.stringify(value),
      actor: JSON.stringify(actor),
      changed_at: at,
    })
    .execute()
}

async function connectionRow(deviceId: string, from: Date, to: Date | null) {
  await hub.db
    .insertInto('device_connection')
    .values({
      connection_id: newId('d_conn'),
      device_id: deviceId,
      node_id: newId('cluster_node'),
      token_id: tokenId,
      certificate_id: newId('d_c'),
      connected_at: from,
      ended_at: to,
      end_reason: to && 'Disconnected',
    })
    .execute()
}

async function auditRow(
  deviceId: string,
  at: Date,
  event: string,
  data: object,
  actor: object = { actor: 'User', userId: owner.userId },
) {
  await hub.db
    .insertInto('audit_event')
    .values({
      event_id: newDatedId('audit_ev', at),
      event,
      actor: JSON.stringify(actor),
      actor_id: owner.userId,
      data: JSON.stringify(data),
      device_id: deviceId,
      created_at: at,
    })
    .execute()
}

/** A device with one timeline entry of each kind, and with ten minutes between its two connections. */
async function storiedDevice(): Promise<string> {
  const deviceId = await deviceRow(hub, projectId)
  const self = { actor: 'Device', deviceId, tokenId }
  const status = 'dev.nexigon.ota.status'
  await connectionRow(deviceId, minutesAgo(90), minutesAgo(60))
  await changeRow(deviceId, minutesAgo(80), status, 1, { state: 'installing' }, self)
  await changeRow(deviceId, minutesAgo(70), status, 2, { state: 'failed' }, self)
  await eventRow(deviceId, minutesAgo(65), 'Error', 'no space left', 'ota')
  await connectionRow(deviceId, minutesAgo(50), null)
  await eventRow(deviceId, minutesAgo(40), 'Info', 'gedrückt', 'app')
  await changeRow(deviceId, minutesAgo(30), 'site', 1, 'Pier 3', { actor: 'User', userId: owner.userId })
  await auditRow(deviceId, minutesAgo(20), 'devices_CertificateStatusChanged', { deviceId, status: 'Active' })
  await auditRow(deviceId, minutesAgo(10), 'devices_NameChanged', { deviceId, name: 'crane' })
  return deviceId
}

const STORY = [
  'User devices_NameChanged',
  'User devices_CertificateStatusChanged',
  'User site undefined "Pier 3"',
  'Info "gedrückt"',
  'connected, offline for 600 s',
  'Disconnected after 1800 s',
  'Error "no space left"',
  'Device dev.nexigon.ota.status {"state":"installing"} {"state":"failed"}',
  'Device dev.nexigon.ota.status undefined {"state":"installing"}',
  'connected, offline for ? s',
]

describe('devices_QueryTimeline', () => {
  it('joins all kinds, newest first, and says whether the device was connected', async () => {
    const deviceId = await storiedDevice()
    const { entries, nextCursor, searchedBackTo, counts } = await timelineOf(deviceId)
    expect(entries.map(wordsOf)).toEqual(STORY)
    expect(entries.map(({ isConnected }) => isConnected)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      true,
      true,
      true,
      true,
    ])
    expect([nextCursor, searchedBackTo]).toEqual([undefined, undefined])
    expect(counts).toEqual({ event: 2, connection: 3, property: 2, certificate: 1, person: 2 })
  })

  it.each([1, 3, 4])('returns the same entries in pages of %i', async limit => {
    const deviceId = await storiedDevice()
    expect((await pagesOf(deviceId, limit)).map(wordsOf)).toEqual(STORY)
  })

  it('finds entries by kind, severity, category, text and time, and counts all kinds', async () => {
    const deviceId = await storiedDevice()
    const found = async (filter: Filter) => (await timelineOf(deviceId, filter)).entries.map(wordsOf)
    expect(await found({ kinds: ['person'] })).toEqual([STORY[0], STORY[2]])
    expect(await found({ kinds: ['event', 'certificate'] })).toEqual([STORY[1], STORY[3], STORY[6]])
    expect(await found({ minSeverity: 'Warning' })).toEqual([STORY[5], STORY[6], STORY[7]])
    expect(await found({ category: 'ota' })).toEqual([STORY[6]])
    expect(await found({ text: 'PIER 3' })).toEqual([STORY[2]])
    expect(await found({ text: 'Gedrückt' })).toEqual([STORY[3]])
    expect(await found({ text: owner.email })).toEqual([STORY[0], STORY[1], STORY[2]])
    expect(await found({ text: 'no such text' })).toEqual([])
    const since = minutesAgo(62).toISOString()
    expect(await found({ since })).toEqual(STORY.slice(0, 6))
    expect(await found({ since, until: minutesAgo(35).toISOString() })).toEqual(STORY.slice(3, 6))
    const { counts } = await timelineOf(deviceId, { kinds: ['event'], since })
    expect(counts).toEqual({ event: 1, connection: 2, property: 0, certificate: 1, person: 2 })
  })

  it('shows a change by a person once, with both values and the name', async () => {
    await using device = await connected()
    const { deviceId } = device
    const property = { deviceId, name: 'wind' }
    await owner.invoke('devices_SetProperty', { ...property, value: 18.5 })
    await owner.invoke('devices_SetProperty', { ...property, value: 16 })
    await owner.invoke('devices_SetProperty', { ...property, value: 16, protected: true })
    await owner.invoke('devices_RemoveProperty', property)
    await owner.invoke('devices_SetProperty', { ...property, value: null })
    const { entries } = await timelineOf(deviceId, { kinds: ['person'] })
    expect(entries.map(wordsOf)).toEqual([
      'User wind undefined null',
      'User wind 16 undefined',
      'User devices_PropertySet',
      'User wind 18.5 16',
      'User wind undefined 18.5',
    ])
    expect(entries[0]).toMatchObject({ now: { value: null, isRemoved: false }, before: { isRemoved: true } })
    expect(entries[3]).toMatchObject({ actorName: owner.email, before: { value: 18.5 }, now: { value: 16 } })
  })

  it('C31: files a rename by the device under its properties, and its enrolment under certificates', async () => {
    const deviceId = await deviceRow(hub, projectId)
    const self = { actor: 'Device', deviceId, tokenId }
    await auditRow(deviceId, minutesAgo(3), 'devices_Created', { deviceId }, self)
    await auditRow(deviceId, minutesAgo(2), 'devices_NameChanged', { deviceId, name: 'crane' }, self)
    const { entries } = await timelineOf(deviceId)
    expect(entries.map(({ kind }) => kind)).toEqual(['property', 'certificate'])
  })

  it('cuts large values and shows events of a wrong clock with the time of their arrival', async () => {
    await using device = await connected()
    const { deviceId } = device
    await device.invoke('devices_SetProperty', { deviceId, name: 'log', value: 'x'.repeat(1_000_000) })
    const event = {
      eventId: newDatedId('d_ev'),
      severity: 'Info',
      body: { ar: 'مرحبا', he: 'שלום', zh: '你好' },
      attributes: {},
      emittedAt: '1970-01-01T00:00:03Z',
    }
    await device.invoke('devices_PublishEvents', { deviceId, events: [event] })
    const { entries } = await timelineOf(deviceId)
    const change = entries.find(({ type }) => type === 'property')
    expect(change).toMatchObject({ now: { isCut: true, valueBytes: 1_000_002 } })
    expect(JSON.stringify(change).length).toBeLessThan(6_000)
    const shown = entries.find(entry => entry.type === 'event')
    expect(shown).toMatchObject({
      at: shown?.receivedAt,
      emittedAt: '1970-01-01T00:00:03.000Z',
      clockErrorSecs: expect.any(Number),
      body: event.body,
      isConnected: true,
    })
    expect((await timelineOf(deviceId, { text: '你好' })).entries).toHaveLength(1)
  })

  it('leaves out the end of a connection that another one had replaced', async () => {
    const deviceId = await deviceRow(hub, projectId)
    await connectionRow(deviceId, minutesAgo(30), minutesAgo(10))
    await connectionRow(deviceId, minutesAgo(20), minutesAgo(5))
    expect((await timelineOf(deviceId)).entries.map(wordsOf)).toEqual([
      'Disconnected after 900 s',
      'connected, offline for 0 s',
      'connected, offline for ? s',
    ])
  })

  it('answers after 20,000 rows with a cursor and the time back to which it searched', async () => {
    const deviceId = await deviceRow(hub, projectId)
    await eventRow(deviceId, minutesAgo(600), 'Info', 'needle')
    await hub.pool.query(
      `insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
       select $1, 'd_ev_20260101-0000-' || i, current_date, 'Info', '"hay"', '{}', now() - i * interval '1 s'
         from generate_series(1, 24000) i`,
      [deviceId],
    )
    const input = { deviceId, filter: { text: 'needle' } }
    const first = await owner.invoke('devices_QueryTimeline', { ...input, withCounts: true })
    expect(first).toMatchObject({ entries: [], counts: { event: 0 } })
    const searched = Date.parse(first.searchedBackTo!)
    // The limit of 20,000 rows counts every row that was read, even if it is not merged into the timeline yet. So the search may end
    // long before the 20,000th event.
    expect(searched).toBeGreaterThanOrEqual(Date.now() - 20_100_000)
    expect(searched).toBeLessThan(Date.now() - 60_000)
    const entries: Entry[] = []
    let cursor = first.nextCursor
    for (let calls = 0; cursor !== undefined && calls < 20; calls++) {
      const page = await owner.invoke('devices_QueryTimeline', { ...input, cursor })
      entries.push(...page.entries)
      cursor = page.nextCursor
    }
    expect(entries.map(wordsOf)).toEqual(['Info "needle"'])
  })

  it('gives up after 1 s if a table is locked, and runs one call at a time for a person', async () => {
    const deviceId = await storiedDevice()
    await using session = await databaseSession(hub)
    await session.lock('device_event')
    const calls = [1, 2].map(() => failed(owner.invoke('devices_QueryTimeline', { deviceId })))
    const waiting = async () => {
      const { rows } = await hub.pool.query(
        `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%as is_match%from device_event e%'`,
      )
      return rows.length
    }
    expect(await until('a call waits for the table', waiting)).toBe(1)
    for (const error of await Promise.all(calls))
      expect(error).toMatchObject({ kind: 'RateLimited', message: expect.stringContaining('too busy') })
    await session.release()
    expect((await timelineOf(deviceId)).entries.length).toBeGreaterThan(0)
  })

  it('measures a range that ends now by its length', async () => {
    const deviceId = await deviceRow(hub, projectId)
    await eventRow(deviceId, minutesAgo(90), 'Info', 'early')
    await eventRow(deviceId, minutesAgo(30), 'Info', 'late')
    const found = async (filter: Filter) => (await timelineOf(deviceId, filter)).entries.map(wordsOf)
    expect(await found({ withinSecs: 3600 })).toEqual(['Info "late"'])
    expect(await found({ withinSecs: 7200 })).toEqual(['Info "late"', 'Info "early"'])
    expect(await found({ withinSecs: 7200, since: minutesAgo(60).toISOString() })).toEqual(['Info "late"'])
  })

  it('rejects a cursor of another list', async () => {
    const deviceId = await deviceRow(hub, projectId)
    for (const cursor of ['abc', Buffer.from('["-emittedAt","a","b"]').toString('base64url')])
      await expect(owner.invoke('devices_QueryTimeline', { deviceId, cursor })).rejects.toMatchObject({
        kind: 'Invalid',
        status: 409,
      })
  })
})

describe('tags in a timeline', () => {
  it('names the actor only to callers who may read the log of the repository', async () => {
    const publisher = await hub.user({ displayName: 'Paula' })
    const repositoryId = await hub.repository(publisher, await hub.organization(publisher))
    const packageId = await hub.package(publisher, repositoryId, 'os')
    const version = async (name: string) => {
      const created = await publisher.invoke('repositories_CreateVersion', { packageId, tags: [], name })
      return created.versionId
    }
    const [one, two] = [await version('1.0'), await version('2.0')]
    await publisher.invoke('repositories_SetVisibility', { repositoryId, visibility: 'Public' })
    await publisher.invoke('repositories_TagVersion', { versionId: one, tags: [{ tag: 'stable' }] })
    await using device = await connected()
    const { deviceId } = device
    const path = `${repositoryId}/os/stable`
    const configure = (value: object) =>
      owner.invoke('devices_SetProperty', { deviceId, name: 'dev.nexigon.ota.config', value })
    await configure({ path })
    await publisher.invoke('repositories_TagVersion', { versionId: two, tags: [{ tag: 'stable' }] })
    await publisher.invoke('repositories_TagVersion', {
      versionId: two,
      tags: [{ tag: 'stable', locked: true }],
    })
    await configure({ path: `${repositoryId}/os/edge` })
    await publisher.invoke('repositories_TagVersion', { versionId: one, tags: [{ tag: 'beta' }] })

    const tagsFor = async (as: TestUser) =>
      (await timelineOf(deviceId, {}, as)).entries.filter(({ type }) => type === 'tag')
    const outside = await tagsFor(owner)
    expect(outside).toMatchObject([{ type: 'tag', kind: 'person', path }])
    expect(JSON.stringify(outside)).not.toContain(publisher.userId)
    expect(outside[0]).not.toHaveProperty('details')

    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: publisher.userId, is_admin: false })
      .execute()
    expect(await tagsFor(publisher)).toMatchObject([
      { path, details: { from: { name: '1.0' }, to: { name: '2.0' }, actorName: 'Paula' } },
    ])
    // An administrator of the instance sees that the tag moved, but no details: another organization owns the repository.
    const [move] = await tagsFor(await hub.user({ isAdmin: true }))
    expect(move).not.toHaveProperty('details')
  })
})

describe('plans of the statements of a timeline', () => {
  it('read large tables by their indexes', async () => {
    const deviceId = await storiedDevice()
    const repositoryId = await hub.repository(owner, organizationId)
    const packageId = await hub.package(owner, repositoryId)
    await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
    const name = 'dev.nexigon.ota.config'
    const value = { path: `${repositoryId}/${packageId}/stable` }
    await owner.invoke('devices_SetProperty', { deviceId, name, value })
    await using session = await databaseSession(hub)
    await session.query(`
      insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
      select 'd_other' || i % 1000, 'd_ev_x' || i, current_date - i % 3, 'Info', '"x"', '{}', now() - i * interval '1 s'
        from generate_series(1, 30000) i`)
    await session.query(`
      insert into device_property_change (device_id, name, version, value, actor, changed_at)
      select 'd_other' || i % 1000, 'p' || i % 7, i, '1', '{}', now() - i * interval '3 s' from generate_series(1, 30000) i`)
    await session.query(`
      insert into audit_event (event_id, event, actor, data, device_id, created_at)
      select 'audit_x' || i, 'devices_NameChanged', '{}', '{}', 'd_other' || i % 1000, now() - i * interval '1 s'
        from generate_series(1, 30000) i`)
    await session.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_other' || i, $1, 'd_pk_other' || i, convert_to('other' || i, 'UTF8') from generate_series(0, 999) i`,
      [projectId],
    )
    await session.query(`
      insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
      select 'd_conn_x' || i, 'd_other' || i % 1000, '', '', '', now() - i * interval '1 s', now(), 'Disconnected'
        from generate_series(1, 30000) i`)
    await session.query(
      `insert into package_tag_change (package_id, tag, version_id, locked, actor, changed_at)
       select $1, 'tag' || i % 1000, 'v' || i, false, '{}', now() - i * interval '1 s' from generate_series(1, 30000) i`,
      [packageId],
    )
    await session.query('analyze')

    const plans: string[] = []
    const reader: Reader = {
      rows: wanted => wanted,
      async read<Row>(statement: RawBuilder<Row>) {
        const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${statement}`.execute(hub.db)
        plans.push(rows.map(row => row['QUERY PLAN']).join('\n'))
        return (await statement.execute(hub.db)).rows
      },
      within: run => hub.db.transaction().execute(run),
    }
    const asDevice: DeviceCaller = { actor: 'Device', deviceId, projectId, organizationId, tokenId }
    const search = { deviceId, organizationId, text: 'crane', category: undefined }
    for (const since of [undefined, minutesAgo(120).toISOString()]) {
      const asked = { ...search, since }
      for (const source of [
        eventSource(reader, 1, asked, undefined),
        connectionSource(reader, 0, asked, undefined),
        propertySource(reader, 2, asked, undefined),
        auditSource(reader, 4, asked, undefined),
        tagSource(reader, 3, asked, undefined, tx => followedTags(tx, asDevice)),
      ])
        for (let isEnd = false; !isEnd; ) ({ isEnd } = await source.next(64))
    }
    expect(plans.length).toBeGreaterThanOrEqual(10)
    const scanned = await session.query(
      `select relname from pg_class where relkind = 'r' and reltuples > 1000 and relname ~ '^(device|audit|package)'`,
    )
    expect(scanned.map(({ relname }) => relname as string)).toEqual(
      expect.arrayContaining(['audit_event', 'device_connection', 'package_tag_change']),
    )
    for (const { relname } of scanned)
      for (const plan of plans) expect(plan).not.toMatch(new RegExp(`Seq Scan on ${relname}\\b`))
  })
})

/** A connected device of the project. */
async function connected(): Promise<FakeDevice> {
  const { token } = await hub.token(owner, projectId)
  const device = await connectDevice({ url: hub.url, token })
  await until('the device is connected', async () => {
    const { isConnected } = await owner.invoke('devices_GetDetails', { deviceId: device.deviceId })
    return isConnected
  })
  return device
}
