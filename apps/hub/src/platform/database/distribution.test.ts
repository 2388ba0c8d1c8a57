import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newDatedId } from '@muster/actions'
import type { RawJson } from '@muster/actions/exact-json'
import { connectDevice, type DatabaseSession, databaseSession, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { PreparingClient } from './client/preparing-client.ts'

// Checks that the statements on the tables of events and property changes would also run on a database engine that distributes the rows
// to several servers by a hash of the device id (docs/scaling.md).

const PARTITIONED_BY: Record<string, string> = {
  device_event: 'event_day',
  device_property_change: 'changed_at',
}
const TABLES = Object.keys(PARTITIONED_BY)
const TABLE = new RegExp(`\\b(${TABLES.join('|')})(_\\w+)?\\b`)

/** Files with statements on the tables of events and property changes. Each time a file names a table it has a part of that statement here. */
const STATEMENTS: Record<string, RegExp[]> = {
  'features/devices/actions/QueryProperties.ts': [/select c\.actor from device_property_change c/],
  'features/devices/actions/QueryPropertyHistory.ts': [/from "device_property_change" as "c"/],
  'link/telemetry/device-events.ts': [
    /^\s*insert into device_event .* select i\.device_id/s,
    /claimed as \(\s*insert into device_event/,
    /\)\s*insert into device_event/,
  ],
  'features/webhooks/exports.ts': [/unnest\(.*join device_event e on e\.device_id = k\.device_id/s],
  'link/telemetry/device-properties.ts': [
    /floors as \(.*insert into device_property_change/s,
    /^insert into "device_property_change"/,
  ],
  'features/devices/problem-run.ts': [/octet_length\(c\.value::text\) <= .* from device_property_change c/s],
  'features/devices/events-by-time.ts': [
    /from device_event e\s+where e\.device_id = /,
    /from device_event_default e\s+where e\.device_id = /,
  ],
  'features/devices/jobs/MeasureStored.ts': [
    /^(?=.*sum\(bytes\) over).*"device_event"/s,
    /^(?=.*sum\(bytes\) over).*"device_property_change"/s,
  ],
  'features/devices/jobs/SweepHistory.ts': [
    /delete from "device_event" .* device_id = any/s,
    /delete from "device_property_change" .* device_id = any/s,
  ],
  'link/gateway/token-labels.ts': [/^\s*with labelled as .* insert into device_property_change/s],
  'link/telemetry/property-statements.ts': [/^\s*insert into device_property_change/],
  'features/timeline/audit-source.ts': [/select c\.name, c\.changed_at from device_property_change c/],
  'features/timeline/contents.ts': [
    /join device_event e on .* e\.event_day = k\.day/s,
    /join device_property_change c\s+on c\.device_id/,
    /select b\.value, b\.changed_at from device_property_change b/,
  ],
  'features/timeline/followed-tags.ts': [/to_json\(changed_at\) .* from device_property_change/s],
  'features/timeline/property-source.ts': [/select \* from device_property_change c/],
}
/**
 * Files that name the tables of `PARTITIONED_BY` but contain no statement that reads or writes rows of these tables. One declares the row
 * types, the other reads the sizes of all tables.
 */
const NAMES_ONLY = ['features/instance/health.ts', 'platform/database/schema.ts']

const { limits } = loadConfig({})
// The limits are low, so that the job `devices_MeasureStored` has rows to remove.
const hub = await testHub({
  otlpAllow: ['127.0.0.0/8'],
  limits: { ...limits, 'device-event-bytes': 1000, 'device-history-bytes': 500 },
})
let session: DatabaseSession
beforeAll(async () => {
  session = await databaseSession(hub)
})
afterAll(async () => {
  await session[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

describe('the tables of events and property changes', () => {
  it('have the device id first in every index, and the partition column in unique ones', async () => {
    const indexes = await session.query<{ table: string; isUnique: boolean; columns: string[] }>(
      `select indrelid::regclass::text as table, indisunique as "isUnique",
              array(select coalesce(attname::text, 'expression')
                      from unnest(indkey::int2[]) with ordinality k (attnum, at)
                      left join pg_attribute a on a.attrelid = indrelid and a.attnum = k.attnum order by at) as columns
         from pg_index where indrelid = any ($1::regclass[]) order by indexrelid`,
      [TABLES],
    )
    expect(new Set(indexes.map(({ table }) => table))).toEqual(new Set(TABLES))
    for (const { table, isUnique, columns } of indexes) {
      expect(columns[0]).toBe('device_id')
      if (isUnique) expect(columns).toContain(PARTITIONED_BY[table])
    }
  })

  it('are partitioned by day', async () => {
    const keys = await session.query(
      'select partrelid::regclass::text as table, pg_get_partkeydef(partrelid) as key from pg_partitioned_table where partrelid = any ($1::regclass[])',
      [TABLES],
    )
    expect(Object.fromEntries(keys.map(({ table, key }) => [table, key]))).toEqual(
      Object.fromEntries(TABLES.map(table => [table, `RANGE (${PARTITIONED_BY[table]})`])),
    )
    const partitions = await session.query<{ bound: string }>(
      `select pg_get_expr(relpartbound, c.oid) as bound from pg_inherits join pg_class c on c.oid = inhrelid
        where inhparent = any ($1::regclass[])`,
      [TABLES],
    )
    const ofDays = partitions.map(({ bound }) => bound).filter(bound => bound !== 'DEFAULT')
    expect(ofDays.length).toBeGreaterThan(2 * 7)
    for (const bound of ofDays) {
      const [from, to] = [...bound.matchAll(/'([^']+)'/g)].map(([, at]) => Date.parse(at!))
      expect(to! - from!).toBe(24 * 60 * 60 * 1000)
    }
  })

  it('have no foreign keys, triggers, exclusion constraints, sequences or computed columns', async () => {
    const found = await session.query(
      `select conname as name from pg_constraint
        where contype in ('f', 't', 'x') and (conrelid = any ($1::regclass[]) or confrelid = any ($1::regclass[]))
       union all select tgname from pg_trigger where tgrelid = any ($1::regclass[])
       union all select attname from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid = any ($1::regclass[]) and attnum > 0
          and (attidentity <> '' or attgenerated <> '' or pg_get_expr(adbin, adrelid) <> 'now()')`,
      [TABLES],
    )
    expect(found).toEqual([])
  })
})

describe('the statements on events and property changes', () => {
  it('stand in the known files only', () => {
    const folder = join(import.meta.dirname, '../..')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts') && !/\.test\.ts$|\/testing\//.test(file))
      .filter(file => TABLE.test(readFileSync(join(folder, file), 'utf8')))
    expect(files.sort()).toEqual([...Object.keys(STATEMENTS), ...NAMES_ONLY].sort())
    for (const [file, parts] of Object.entries(STATEMENTS))
      expect(readFileSync(join(folder, file), 'utf8').match(new RegExp(TABLE, 'g')), file).toHaveLength(
        parts.length,
      )
  })

  it('find rows by the device id', async () => {
    const texts = await sentTexts()
    for (const [file, parts] of Object.entries(STATEMENTS))
      expect(
        parts.filter(part => ![...texts].some(text => part.test(text))),
        file,
      ).toEqual([])
    for (const text of texts) expect(await scansOfAllDevices(text), text).toEqual([])
  })

  it('H3: read tables of the state in another part of the statement', async () => {
    for (const text of await sentTexts()) expect(await mixedParts(text), text).toEqual([])
    const mixed = [
      `select c.actor, (select u.display_name from "user" u where u.user_id = c.actor ->> 'userId')
         from device_property_change c where c.device_id = $1`,
      `select from audit_event a where a.device_id = $1
         and exists (select from device_property_change c where c.device_id = $1 and c.changed_at = a.created_at)`,
    ]
    for (const text of mixed) expect(await mixedParts(text), text).not.toEqual([])
  })

  it('H3: store a repeated event whatever error the engine gives it', async () => {
    // Stands for an engine whose error for a repeated event is not that of a unique key.
    await session.query(`
      create function refuse_plain_insert() returns trigger language plpgsql as $$ begin
        if current_query() not like '%on conflict%' then
          raise exception 'failure on connection marked as essential' using errcode = 'XX000';
        end if;
        return null;
      end $$`)
    await session.query(
      'create trigger refuse before insert on device_event for each statement execute function refuse_plain_insert()',
    )
    try {
      const { owner, token } = await hub.fleet()
      await using device = await connectDevice({ url: hub.url, token })
      const { deviceId } = device
      const event = {
        severity: 'Info' as const,
        body: 'again',
        attributes: {},
        emittedAt: new Date().toISOString(),
      }
      const events = [{ ...event, eventId: newDatedId('d_ev', new Date()) }]
      await device.invoke('devices_PublishEvents', { deviceId, events })
      await device.invoke('devices_PublishEvents', { deviceId, events })
      const stored = await owner.invoke('devices_QueryEvents', { deviceId, limit: 5 })
      expect(stored.events.map(({ body }) => body)).toEqual(['again'])
    } finally {
      await session.query('drop function refuse_plain_insert cascade')
    }
  })

  it('H3: name a column in each subquery of an SQL function', async () => {
    const functions = await session.query<{ name: string; text: string }>(
      `select proname as name, prosrc as text from pg_proc
        where pronamespace = current_schema()::regnamespace and prosrc ~ '(device_event|device_property_change)'`,
    )
    expect(functions.map(({ name }) => name)).toContain('maintain_partitions')
    for (const { name, text } of functions) expect(text, name).not.toMatch(/\bselect\s+from\b/i)
  })

  it('are noticed when they read or lock rows of all devices', async () => {
    const allDevices = [
      'select count(*) from device_event',
      `delete from device_property_change where changed_at < now()`,
      'select e.* from device_event e join device d on d.last_connected_at = e.emitted_at where d.device_id = $1',
      'select event_id from device_event where device_id = $1 for update',
    ]
    for (const text of allDevices) expect(await scansOfAllDevices(text), text).not.toEqual([])
  })
})

/** Runs `run` and returns the texts of the statements on the tables of `PARTITIONED_BY` that the hub sent meanwhile. */
async function textsOf(run: () => Promise<void>): Promise<Set<string>> {
  const queries = vi.spyOn(PreparingClient.prototype, 'query')
  try {
    await run()
    const texts = queries.mock.calls.map(([query]) => (typeof query === 'string' ? query : query.text))
    return new Set((texts as string[]).filter(text => TABLE.test(text)))
  } finally {
    queries.mockRestore()
  }
}

/** The texts that the hub sends when it runs every statement of `STATEMENTS`. */
const sentTexts = (() => {
  let texts: Promise<Set<string>> | undefined
  return () => (texts ??= textsOf(runAll))
})()

/** Makes the hub run every statement of `STATEMENTS`. A statement whose conditions depend on the input is run with each of them. */
async function runAll(): Promise<void> {
  const { owner, projectId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const labelled = await owner.invoke('projects_CreateDeploymentToken', {
    projectId,
    name: 'Labelled',
    flags: { autoAccept: true },
    labels: { site: 'pier4' },
  })
  await using _ = await connectDevice({ url: hub.url, token: labelled.token })
  const at = new Date()
  const event = { severity: 'Info' as const, body: 'hello', attributes: {}, emittedAt: at.toISOString() }
  const fresh = Array.from({ length: 90 }, () => ({ ...event, eventId: newDatedId('d_ev', at) }))
  const late = { ...event, eventId: newDatedId('d_ev', new Date(at.getTime() - 5 * 24 * 60 * 60 * 1000)) }
  for (const events of [fresh, fresh.slice(0, 1), [late]])
    await device.invoke('devices_PublishEvents', { deviceId, events })
  await owner.invoke('devices_PublishEvents', { deviceId, events: [fresh[1]!] })
  // Nothing listens at the address. The events are read before each attempt.
  const config = { enabled: true, endpoint: 'http://127.0.0.1:9', headers: {} }
  await owner.invoke('projects_SetOtlpConfig', { projectId, config })
  await until('the node knows it', () => hub.services.ingest.exportsEventsOf(projectId))
  const exported = { ...event, eventId: newDatedId('d_ev', at) }
  for (const events of [[exported], [exported], [{ ...late, eventId: newDatedId('d_ev', new Date(0)) }]])
    await device.invoke('devices_PublishEvents', { deviceId, events })
  hub.services.exporter.wake()
  await until('it is read', async () => {
    const { rows } = await hub.pool.query('select from webhook_attempt')
    return rows.length > 0
  })

  const info = { hostname: 'crane-01', networks: [{ name: 'eth0', ipAddresses: ['10.0.0.7/24'] }] }
  const properties = {
    site: 'Pier 4',
    'dev.nexigon.ota.status': { state: 'idle' },
    'dev.nexigon.system.info': info,
  }
  for (const [name, value] of Object.entries(properties))
    await device.invoke('devices_SetProperty', { deviceId, name, value })
  for (const value of ['Pier 5', 'x'.repeat(1000)])
    await owner.invoke('devices_SetProperty', { deviceId, name: 'site', value })

  await owner.invoke('devices_SetLabels', { deviceId, set: { site: 'pier4' } })

  const first = await owner.invoke('devices_QueryEvents', { deviceId, limit: 5 })
  await owner.invoke('devices_QueryEvents', { deviceId, limit: 5, cursor: first.nextCursor })
  await owner.invoke('devices_QueryEvents', { deviceId, limit: 200 })
  await owner.invoke('devices_QueryProperties', { deviceId, limit: 10, withActors: true })
  await owner.invoke('devices_QueryPropertyHistory', { deviceId, name: 'site' })
  await owner.invoke('devices_GetProblemRun', { deviceId, of: 'update' })
  const since = new Date(at.getTime() - 60_000).toISOString()
  for (const filter of [{}, { since }, { text: 'hello' }, { category: 'ota' }]) {
    const page = await owner.invoke('devices_QueryTimeline', {
      deviceId,
      limit: 100,
      filter,
      withCounts: true,
    })
    await owner.invoke('devices_QueryTimeline', { deviceId, limit: 100, filter, cursor: page.nextCursor })
  }

  await hub.runJob('devices_MeasureStored', {})
  expect((await owner.invoke('devices_QueryEvents', { deviceId })).events.length).toBeLessThan(10)
  await owner.invoke('devices_Delete', { deviceId })
  await owner.invoke('projects_Delete', { projectId })
  await hub.runJob('devices_SweepHistory', {})
}

type Plan = {
  'Node Type': string
  'Parent Relationship'?: string
  'Relation Name'?: string
  Alias?: string
  Plans?: Plan[]
} & Partial<Record<(typeof CONDITIONS)[number], string>>
const CONDITIONS = ['Index Cond', 'Recheck Cond', 'Filter', 'Hash Cond', 'Merge Cond', 'Join Filter'] as const
/** Plan nodes of SQL that engines with rows on several servers refuse: row locks, recursion and samples. */
const REFUSED = ['LockRows', 'Recursive Union', 'Sample Scan']

/**
 * Tables of the state that a part of a statement reads together with a table of `PARTITIONED_BY`. A part is a materialized CTE, an
 * uncorrelated subquery, or the rest of the statement. An engine that keeps the state on one server and these tables on others runs each
 * part by itself.
 */
async function mixedParts(text: string): Promise<string[]> {
  const found: string[] = []
  const visit = (node: Plan, tables: Set<string>): Set<string> => {
    if (node['Relation Name'] !== undefined && node['Node Type'] !== 'ModifyTable')
      tables.add(node['Relation Name'])
    for (const child of node.Plans ?? []) {
      if (child['Parent Relationship'] === 'InitPlan') note(visit(child, new Set()))
      else visit(child, tables)
    }
    return tables
  }
  const note = (tables: Set<string>) => {
    const state = [...tables].filter(table => !TABLE.test(table))
    if (state.length < tables.size) found.push(...state)
  }
  note(visit(await planOf(text), new Set()))
  return found
}

async function planOf(text: string): Promise<Plan> {
  const rows = await session.query<{ 'QUERY PLAN': RawJson }>(
    `explain (generic_plan, verbose, costs off, format json) ${text}`,
  )
  return (rows[0]!['QUERY PLAN'].parse() as [{ Plan: Plan }])[0].Plan
}

/**
 * Scans of the tables of `PARTITIONED_BY` in the plan of a statement. Returns only scans that no condition on the device id restricts, and
 * scans below a plan node that `REFUSED` lists.
 */
async function scansOfAllDevices(text: string): Promise<string[]> {
  const found: string[] = []
  const visit = (node: Plan, conditions: string, isRefused: boolean): void => {
    const own = CONDITIONS.map(key => node[key] ?? '').join(' ')
    const all = `${conditions} ${own}`
    const refused = isRefused || REFUSED.includes(node['Node Type'])
    const { 'Relation Name': table, Alias: alias } = node
    if (table !== undefined && TABLE.test(table) && node['Node Type'] !== 'ModifyTable') {
      // In conditions above the scans of partitions, PostgreSQL writes the alias of the first partition: `e_1` instead of `e`.
      const column = `\\b${alias!.replace(/_\d+$/, '')}(_\\d+)*\\.device_id`
      if (refused || !new RegExp(`${column} = |= ${column}`).test(all)) found.push(`${table}: ${all}`)
    }
    for (const child of node.Plans ?? []) visit(child, all, refused)
  }
  visit(await planOf(text), '', false)
  return found
}
