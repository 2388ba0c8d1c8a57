import {
  databaseSession,
  deviceRow,
  failed,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matchesFilter } from './device-filter.ts'
import { columnText } from './property-paths.ts'
import { namesQuery, sampledValues } from './property-suggestions.ts'

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string
const ids: Record<string, string> = {}

/** Properties of the devices of the project, keyed by the name of the device, oldest first. */
const PROPERTIES: Record<string, Record<string, unknown>> = {
  crane: {
    modem: { signal: -111, operator: 'Nordlink', sim: { iccid: '89' } },
    'modem.signal': 'a property of its own',
    service: '2026-09-30',
    floor: 4,
  },
  ferry: { modem: { signal: -104, operator: 'Nordlink' }, service: '2026-08-01', floor: 12.5, isSpare: true },
  gate: {
    modem: 'broken',
    service: '2026-07-01',
    floor: '12',
    note: 'x'.repeat(900),
    big: 'y'.repeat(70_000),
  },
  lift: { service: { last: null }, floor: 12.5, note: 'עברית \u202e 한국어' },
  new: {},
}

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  const neighbour = await hub.project(owner, organizationId)
  for (const [index, [name, properties]] of Object.entries(PROPERTIES).entries()) {
    const firstSeen = new Date(Date.UTC(2026, 0, 1 + index))
    ids[name] = await addDevice(projectId, name, properties, firstSeen)
    await addDevice(neighbour, name, { ...properties, secret: 1 }, firstSeen)
  }
})
afterAll(() => hub[Symbol.asyncDispose]())

async function addDevice(
  project: string,
  name: string,
  properties: Record<string, unknown>,
  firstSeen: Date,
): Promise<string> {
  const deviceId = await deviceRow(hub, project, { name, firstSeen })
  for (const [property, value] of Object.entries(properties))
    await owner.invoke('devices_SetProperty', { deviceId, name: property, value })
  return deviceId
}

describe('a column of a device list', () => {
  const columnsOf = async (columns: string[], limit?: number) => {
    const { devices } = await owner.invoke('projects_QueryDevices', {
      projectId,
      columns,
      sort: 'name',
      ...(limit && { limit }),
    })
    return Object.fromEntries(devices.map(({ name, properties }) => [name, properties]))
  }

  it.each([undefined, 100])(
    'has texts without quotes, other values as JSON, and nothing where a device has none',
    async limit => {
      expect(await columnsOf(['floor', 'service', 'isSpare', 'modem'], limit)).toEqual({
        crane: {
          floor: '4',
          service: '2026-09-30',
          modem: '{"signal":-111,"operator":"Nordlink","sim":{"iccid":"89"}}',
        },
        ferry: {
          floor: '12.5',
          service: '2026-08-01',
          isSpare: 'true',
          modem: '{"signal":-104,"operator":"Nordlink"}',
        },
        gate: { floor: '12', service: '2026-07-01', modem: 'broken' },
        lift: { floor: '12.5', service: '{"last":null}' },
        new: {},
      })
    },
  )

  it('shows a member of a value, and the property with the longest name where a path can be read in two ways', async () => {
    const columns = await columnsOf(['modem.signal', 'modem.sim.iccid', 'service.last', 'modem.sim.'])
    expect(columns).toEqual({
      crane: { 'modem.signal': 'a property of its own', 'modem.sim.iccid': '89' },
      ferry: { 'modem.signal': '-104' },
      gate: {},
      // The member `last` of the property `service` is JSON null. PostgreSQL returns SQL null for its text, so the column stays empty.
      lift: {},
      new: {},
    })
  })

  it('is cut to 200 characters, and names the size of a large value', async () => {
    const { gate, lift } = await columnsOf(['note', 'big'])
    expect(gate).toEqual({ note: 'x'.repeat(200), big: '(70002 bytes)' })
    expect(lift).toEqual({ note: 'עברית \u202e 한국어' })
  })

  it.each([
    [Array.from({ length: 9 }, (_, index) => `p${index}`), 'columns'],
    [[''], 'columns.0'],
    [['$.x'], 'columns.0'],
    [['a'.repeat(257)], 'columns.0'],
    [['a\0'], 'columns.0'],
    ['floor', 'columns'],
  ])('refuses the columns %j', async (columns, path) => {
    const error = await failed(
      owner.invoke('projects_QueryDevices', { projectId, columns: columns as never }),
    )
    expect(error).toMatchObject({ kind: 'Invalid', issues: [{ path }] })
  })

  it('is looked up by the key of the property for the rows of a page only', async () => {
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select d.device_id, ${columnText('modem.signal')} from device d where d.project_id = ${projectId}
       order by d.first_seen desc limit 50`.execute(hub.db)
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('device_property_pkey')
    expect(plan).not.toContain('Seq Scan on device_property')
  })
})

describe('suggested names of properties', () => {
  it('are the properties of the project and members of their values, with the types of their values', async () => {
    const answer = await owner.invoke('projects_QueryPropertyNames', { projectId })
    expect(answer).toMatchObject({ matchCount: 11, nameCount: 11, devicesRead: 5 })
    expect(answer.names).toEqual([
      { path: 'big', kinds: [], deviceCount: 1, distinctCount: 0 },
      {
        path: 'floor',
        kinds: ['number', 'string'],
        deviceCount: 4,
        distinctCount: 3,
        lowest: 4,
        highest: 12.5,
        example: '12',
      },
      { path: 'isSpare', kinds: ['boolean'], deviceCount: 1, distinctCount: 1 },
      { path: 'modem', kinds: ['object', 'string'], deviceCount: 3, distinctCount: 3, example: 'broken' },
      { path: 'modem.operator', kinds: ['string'], deviceCount: 2, distinctCount: 1, example: 'Nordlink' },
      expect.objectContaining({ path: 'modem.signal', kinds: ['number', 'string'], deviceCount: 2 }),
      { path: 'modem.sim', kinds: ['object'], deviceCount: 1, distinctCount: 1 },
      expect.objectContaining({ path: 'modem.sim.iccid', example: '89' }),
      expect.objectContaining({ path: 'note', deviceCount: 2 }),
      expect.objectContaining({ path: 'service', kinds: ['object', 'string'], example: '2026-07-01' }),
      { path: 'service.last', kinds: ['null'], deviceCount: 1, distinctCount: 1 },
    ])
  })

  it('contain a text in any case, are names only if asked, and are limited', async () => {
    const names = async (input: object) => {
      const found = await owner.invoke('projects_QueryPropertyNames', { projectId, ...input })
      return [found.names.map(({ path }) => path).join(), found.matchCount, found.nameCount]
    }
    expect(await names({ text: 'SIGNAL' })).toEqual(['modem.signal', 1, 11])
    expect(await names({ namesOnly: true })).toEqual([
      'big,floor,isSpare,modem,modem.signal,note,service',
      7,
      7,
    ])
    expect(await names({ text: 'modem', limit: 2 })).toEqual(['modem,modem.operator', 5, 11])
    expect(await names({ text: '%' })).toEqual(['', 0, 11])
  })
})

describe('suggested values of a property', () => {
  const values = (input: object) =>
    owner.invoke('projects_QueryPropertyValues', { projectId, property: 'floor', ...input })

  it('are those of the devices that match a filter, most frequent first, with the distribution of numbers', async () => {
    expect(await values({})).toEqual({
      values: [
        { value: 12.5, deviceCount: 2 },
        { value: '12', deviceCount: 1 },
        { value: 4, deviceCount: 1 },
      ],
      distinctCount: 3,
      otherCount: 0,
      absentCount: 1,
      numbers: {
        deviceCount: 3,
        lowest: 4,
        lowerQuartile: 4,
        median: 12.5,
        upperQuartile: 12.5,
        highest: 12.5,
      },
      devicesRead: 5,
    })
    const filter = { properties: [{ property: 'isSpare', operator: 'exists' }] }
    expect(await values({ filter })).toMatchObject({
      values: [{ value: 12.5, deviceCount: 1 }],
      absentCount: 0,
      devicesRead: 1,
    })
    expect(await values({ text: '12', limit: 1 })).toMatchObject({
      values: [{ value: 12.5, deviceCount: 2 }],
      distinctCount: 2,
    })
  })

  it('leave out objects and long texts, which conditions cannot compare, and count them', async () => {
    expect(await values({ property: 'note' })).toMatchObject({
      distinctCount: 1,
      otherCount: 1,
      absentCount: 3,
    })
    expect(await values({ property: 'modem' })).toMatchObject({
      values: [{ value: 'broken', deviceCount: 1 }],
      otherCount: 2,
    })
    expect(await values({ property: 'never.heard.of' })).toMatchObject({ values: [], absentCount: 5 })
  })

  it('leave out values of other projects', async () => {
    expect(await values({ property: 'secret' })).toMatchObject({ values: [], absentCount: 5 })
  })
})

describe('suggestions in a large project', () => {
  it('read the newest devices and their properties by index', async () => {
    const large = await hub.project(owner, organizationId)
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, first_seen)
       select 'd_large' || i, $1, 'd_pk_large' || i, convert_to('large' || i, 'UTF8'), now() - make_interval(secs => i)
         from generate_series(1, 20000) i`,
      [large],
    )
    await hub.pool.query(
      `insert into device_property (device_id, name, value, value_json, value_bytes)
       select device_id, n.name, '1', '1', 1 from device, (values ('a'), ('b'), ('c')) n (name) where project_id = $1`,
      [large],
    )
    await using session = await databaseSession(hub)
    await session.query('analyze device, device_property')
    const planOf = async (query: RawBuilder<unknown>) => {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${query}`.execute(hub.db)
      return rows.map(row => row['QUERY PLAN']).join('\n')
    }
    const plans = [
      await planOf(namesQuery(large, 2_000, { text: undefined, namesOnly: false, limit: 50 })),
      await planOf(
        sql`with ${sampledValues(large, 'a', sql<boolean>`true`)} select value, count(*) from short group by value`,
      ),
    ]
    for (const plan of plans) {
      expect(plan).toContain('device_by_first_seen')
      expect(plan).toContain('device_property_pkey')
      expect(plan).not.toContain('Seq Scan')
    }
    const { devicesRead } = await owner.invoke('projects_QueryPropertyNames', { projectId: large })
    expect(devicesRead).toBe(2_000)
    const values = await owner.invoke('projects_QueryPropertyValues', { projectId: large, property: 'a' })
    expect(values).toMatchObject({ values: [{ value: 1, deviceCount: 2_000 }], devicesRead: 2_000 })

    // Conditions of lists and counts look up properties, updates and connections by device.
    await session.query(
      `insert into device_update (device_id, property_version, current_version, state)
       select device_id, 1, '2.0', 'completed' from device where project_id = $1`,
      [large],
    )
    await session.query(
      `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
       select 'd_conn_' || device_id, device_id, '', '', '', now(), now(), 'Disconnected' from device where project_id = $1`,
      [large],
    )
    await session.query('analyze device_update, device_connection')
    const properties = [
      { property: 'a', operator: 'exists' },
      { property: 'a', operator: 'absent' },
      { property: 'a', operator: 'equals', value: 1 },
      { property: 'a', operator: 'notEquals', value: 1 },
      { property: 'a', operator: 'contains', value: '1' },
      { property: 'a', operator: 'less', value: 1 },
      { property: 'a', operator: 'greater', value: 1 },
    ] as const
    const fields = [
      { field: 'version', operator: 'equals', value: '2.0' },
      { field: 'version', operator: 'notEquals', value: '2.0' },
      { field: 'update', operator: 'contains', value: 'comp' },
      { field: 'update', operator: 'absent' },
      { field: 'lastSeen', operator: 'less', value: 60 },
      { field: 'lastSeen', operator: 'greater', value: 60 },
      { field: 'lastSeen', operator: 'absent' },
    ] as const
    const filters = [
      ...properties.map(condition => ({ properties: [condition] })),
      ...fields.map(condition => ({ fields: [condition] })),
    ]
    for (const filter of filters) {
      const rows = sql`from device d where d.project_id = ${projectId} and ${await matchesFilter(hub.db, filter, projectId)}`
      const plan = [
        await planOf(sql`select d.device_id ${rows} order by d.first_seen desc, d.device_id desc limit 51`),
        await planOf(sql`select count(*) ${rows}`),
      ].join('\n')
      expect(plan, JSON.stringify(filter)).not.toMatch(
        /Seq Scan on (device_property|device_update|device_connection)/,
      )
    }
  })
})

describe('counts of devices', () => {
  it('follow their filters, in their order', async () => {
    const filters = [
      {},
      { text: 'FERRY' },
      { deviceIds: [ids.crane!, ids.new!] },
      { deviceIds: [] },
      { properties: [{ property: 'floor', operator: 'greater' as const, value: 4 }] },
    ]
    const { counts } = await owner.invoke('projects_QueryDeviceCounts', {
      projectId,
      filters: filters as never,
    })
    expect(counts).toEqual([5, 1, 2, 0, 2])
  })

  it('C29: find the devices whose update failed with the same error by an index, and count them', async () => {
    const grouped = await hub.project(owner, organizationId)
    for (const disk of [1, 2, 3]) {
      const deviceId = await deviceRow(hub, grouped, { name: `disk ${disk}` })
      const value = {
        state: disk === 3 ? 'completed' : 'failed',
        targetVersion: disk === 1 ? '2.0' : '2.1',
        failureCount: 0,
        lastError: `disk ${disk} is full`,
      }
      await owner.invoke('devices_SetProperty', { deviceId, name: 'dev.nexigon.ota.status', value })
    }
    const filter = { updateError: 'disk # is full' }
    const { devices } = await owner.invoke('projects_QueryDevices', {
      projectId: grouped,
      filter,
      sort: 'name',
    })
    expect(devices.map(({ name }) => name)).toEqual(['disk 1', 'disk 2'])
    // C29: the reasons of the failed updates, with their numbers of devices.
    const reasons = await owner.invoke('projects_QueryPropertyValues', {
      projectId: grouped,
      property: '#updateError',
      filter: { preset: 'updateFailed' },
    })
    expect(reasons.values).toEqual([{ value: 'disk # is full', deviceCount: 2 }])
    const { counts } = await owner.invoke('projects_QueryDeviceCounts', {
      projectId: grouped,
      filters: [
        filter,
        { targetVersion: '2.1' },
        { ...filter, targetVersion: '2.1' },
        { targetVersion: '2' },
      ],
    })
    expect(counts).toEqual([2, 2, 1, 0])
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_many' || i, $1, 'd_pk_many' || i, convert_to('many' || i, 'UTF8') from generate_series(1, 5000) i`,
      [grouped],
    )
    await hub.pool.query(
      `insert into device_update (device_id, property_version, state) select device_id, 1, 'completed' from device
        where device_id like 'd_many%'`,
    )
    await using session = await databaseSession(hub)
    await session.query('analyze device, device_update')
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select from device d where d.project_id = ${grouped} and ${await matchesFilter(hub.db, filter, grouped)}`.execute(
      hub.db,
    )
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('device_update_failed')
    expect(plan).not.toContain('Seq Scan')
  })

  /** Number of statements with such a text that wait for a lock. Jobs of the hub may wait for the table too. */
  const waiting = async (like: string) => {
    const { rows } = await hub.pool.query(
      `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [like],
    )
    return rows.length
  }
  const ask = (action: string, input: object, signal?: AbortSignal) =>
    fetch(`${hub.url}/api/v1/actions/invoke/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: owner.cookie },
      body: JSON.stringify({ projectId, ...input }),
      signal: signal ?? null,
    }).then(
      response => response.status,
      () => 'aborted',
    )
  const HAS_FLOOR = { properties: [{ property: 'floor', operator: 'exists' as const }] }

  it.each([
    ['names', 'projects_QueryPropertyNames', {}, '%with sample as (%'],
    [
      'counts',
      'projects_QueryDeviceCounts',
      { filters: [HAS_FLOOR] },
      'select count(*) as "count" from "device"%',
    ],
  ])(
    'run one at a time for a person, and end in PostgreSQL when the request ends: %s',
    async (_, action, input, text) => {
      await using session = await databaseSession(hub)
      await session.lock('device_property')
      const leaving = [new AbortController(), new AbortController()]
      const asked = leaving.map(({ signal }) => ask(action, input, signal))
      expect(await until('a statement waits', () => waiting(text))).toBe(1)
      // The rows of a list come meanwhile. A text of two characters would be looked for in the locked properties too.
      expect(await ask('projects_QueryDevices', { limit: 2, filter: { text: 'y' }, countTotal: false })).toBe(
        200,
      )
      for (const one of leaving) one.abort()
      expect(await Promise.all(asked)).toEqual(['aborted', 'aborted'])
      await until('no statement waits', async () => (await waiting(text)) === 0)
      await session.release()
      expect(await owner.invoke('projects_QueryPropertyNames', { projectId })).toMatchObject({
        devicesRead: 5,
      })
    },
  )

  it('leave the rows of a filtered list alone, which end in PostgreSQL when the request ends', async () => {
    await using session = await databaseSession(hub)
    await session.lock('device_property')
    const LIST = 'select "d"."device_id"%'
    const leaving = new AbortController()
    const asked = ask('projects_QueryDevices', { limit: 2, filter: HAS_FLOOR }, leaving.signal)
    await until('the list waits', async () => (await waiting(LIST)) === 1)
    expect(await ask('projects_QueryDeviceCounts', { filters: [{}] })).toBe(200)
    leaving.abort()
    expect(await asked).toBe('aborted')
    await until('no statement waits', async () => (await waiting(LIST)) === 0)
    await session.release()
  })

  it('stop after 2 s and say so', async () => {
    await using session = await databaseSession(hub)
    await session.lock('device_property')
    const filters = [{}, { properties: [{ property: 'floor', operator: 'exists' as const }] }, {}]
    const counts = await owner.invoke('projects_QueryDeviceCounts', { projectId, filters })
    expect(counts).toEqual({ counts: [5, null, null] })
    await session.release()
  })
})
