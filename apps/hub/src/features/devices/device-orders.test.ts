import { databaseSession, deviceRow, failed, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LAST_SEEN_ORDER } from './device-sql.ts'
import { absentQuery, valuesQuery, versionWindow, windowQuery } from './property-order.ts'

let hub: TestHub
let owner: TestUser
let projectId: string

/** Values of the property `mix`, keyed by device name, the oldest device first. */
const VALUES: Record<string, unknown> = {
  object: { a: 1 },
  ten: 10,
  banana: 'banana',
  minus: -2.5,
  none1: undefined,
  apple: 'apple',
  yes: true,
  huge: 1e300,
  long: 'x'.repeat(5000),
  quotes: '"\\'.repeat(400),
  nothing: null,
  no: false,
  tenAgain: 10,
  digits: '9',
  list: [3],
  none2: undefined,
  nul: 'odd \0 text',
}

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  const organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  const neighbour = await hub.project(owner, organizationId)
  for (const [index, [name, value]] of Object.entries(VALUES).entries()) {
    for (const project of [projectId, neighbour]) {
      const firstSeen = new Date(Date.UTC(2026, 0, 1 + index))
      const deviceId = await deviceRow(hub, project, { name, firstSeen, isConnected: index % 2 === 0 })
      if (value !== undefined) await owner.invoke('devices_SetProperty', { deviceId, name: 'mix', value })
    }
  }
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Names of all devices, read in pages of `limit` or, without `limit`, as one list. */
async function namesOf(
  sort: string,
  limit?: number,
  filter?: object,
  ofProject = projectId,
): Promise<string[]> {
  const names: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await owner.invoke('projects_QueryDevices', {
      projectId: ofProject,
      sort,
      ...(filter && { filter }),
      ...(limit && { limit }),
      ...(cursor && { cursor }),
    })
    names.push(...page.devices.map(device => device.name!))
    if (page.nextCursor === undefined) return names
    expect(page.devices).toHaveLength(limit!)
    cursor = page.nextCursor
  }
}

describe('a device list sorted by a property', () => {
  it('has numbers, texts, truth values, null, other values and devices without it, in pages as in the whole list', async () => {
    const up = await namesOf('=mix')
    expect([up[0], up[3]]).toEqual(['minus', 'huge'])
    expect(up.slice(1, 3).toSorted()).toEqual(['ten', 'tenAgain'])
    // The collation of the database decides the position of the device `quotes` among the devices whose value is a string.
    const texts = up.slice(4, 8)
    expect(texts.toSorted()).toEqual(['apple', 'banana', 'digits', 'quotes'])
    expect(texts.indexOf('apple')).toBeLessThan(texts.indexOf('banana'))
    expect(up.slice(8, 11)).toEqual(['no', 'yes', 'nothing'])
    expect(up.slice(11, 15).toSorted()).toEqual(['list', 'long', 'nul', 'object'])
    expect(up.slice(15)).toEqual(['none2', 'none1'])
    const down = await namesOf('-=mix')
    const reversed = (from: number, to: number) => up.slice(from, to).toReversed()
    expect(down).toEqual([
      ...[...reversed(0, 4), ...reversed(4, 8), ...reversed(8, 10), 'nothing'],
      ...[...reversed(11, 15), 'none2', 'none1'],
    ])
    for (const limit of [1, 2, 5, 17]) {
      expect(await namesOf('=mix', limit)).toEqual(up)
      expect(await namesOf('-=mix', limit)).toEqual(down)
    }
  })

  it('is filtered, counted, and shown in columns', async () => {
    const ask = {
      projectId,
      sort: '=mix',
      limit: 2,
      filter: { status: 'connected' as const },
      columns: ['mix'],
    }
    const page = await owner.invoke('projects_QueryDevices', ask)
    expect(page.devices.map(({ name, properties }) => [name, properties])).toEqual([
      ['tenAgain', { mix: '10' }],
      ['banana', { mix: 'banana' }],
    ])
    expect(page).toMatchObject({ total: 9, memberColumns: [] })
    // A shorter text could also be part of a random device id.
    expect(await namesOf('=mix', 3, { text: 'tenAgain' })).toEqual(['tenAgain'])
    expect(await namesOf('=never.heard.of', 4)).toEqual(Object.keys(VALUES).toReversed())
  })

  it('is read from the devices of the project where the index begins with many devices of another one', async () => {
    const crowd = await hub.project(owner, await hub.organization(owner))
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_crowd' || i, $1, 'd_pk_crowd' || i, sha256(i::text::bytea) from generate_series(1, 2500) i`,
      [crowd],
    )
    await hub.pool.query(
      `insert into device_property (device_id, name, value, value_json)
       select 'd_crowd' || i, 'mix', to_json(v), to_jsonb(v) from generate_series(1, 2500) i, (values (-1000), (0)) n (v)
        where (v = 0) = (i > 2400)`,
    )
    const up = await namesOf('=mix')
    expect(await namesOf('=mix', 3)).toEqual(up)
    await hub.pool.query(
      `update device_property set value = '"zz"', value_json = '"zz"' where device_id like 'd_crowd%'`,
    )
    expect(await namesOf('=mix', 3)).toEqual(up)
    expect(await namesOf('-=mix', 3)).toEqual(await namesOf('-=mix'))
    await hub.pool.query('delete from device where project_id = $1', [crowd])
  })

  it('names the columns that show members of values, which cannot be sorted', async () => {
    const deviceId = await deviceRow(hub, projectId, { name: 'modem' })
    await owner.invoke('devices_SetProperty', { deviceId, name: 'modem', value: { signal: -90 } })
    const ask = { projectId, columns: ['modem.signal', 'modem', 'mix'], limit: 500 }
    expect((await owner.invoke('projects_QueryDevices', ask)).memberColumns).toEqual(['modem.signal'])
    await owner.invoke('devices_SetProperty', { deviceId, name: 'modem.signal', value: -80 })
    expect((await owner.invoke('projects_QueryDevices', ask)).memberColumns).toEqual([])
    await owner.invoke('devices_Delete', { deviceId })
  })

  it.each(['=', '==mix', '=a b', '--=mix', `=${'a'.repeat(257)}`, 'mix', 'name ', '=a\n'])(
    'refuses the order %j',
    async sort => {
      const error = await failed(owner.invoke('projects_QueryDevices', { projectId, sort }))
      expect(error).toMatchObject({ kind: 'Invalid', issues: [{ path: 'sort' }] })
    },
  )

  it.each(['', 'x', '0', '0x', '6', '5junk', '1"', '3'])(
    'refuses or answers after the forged place %j',
    async key => {
      const cursor = Buffer.from(JSON.stringify(['=mix', key, 'd_x'])).toString('base64url')
      const asked = owner.invoke('projects_QueryDevices', { projectId, sort: '=mix', limit: 2, cursor })
      const outcome = await asked.then(
        () => 'answered',
        (error: { kind: string }) => error.kind,
      )
      expect(['answered', 'Invalid']).toContain(outcome)
    },
  )
})

it('sorts devices by the end of their last connection, and connected devices after all others', async () => {
  const project = await hub.project(owner, await hub.organization(owner))
  const at = (day: number) => new Date(Date.UTC(2026, 5, day))
  const add = async (name: string, isConnected: boolean, ...connections: [Date, Date?][]) => {
    const last = connections.at(-1)?.[0]
    const deviceId = await deviceRow(hub, project, { name, isConnected, firstSeen: at(1) })
    await hub.pool.query('update device set last_connected_at = $2 where device_id = $1', [deviceId, last])
    for (const [from, to] of connections)
      await hub.pool.query(
        `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
         values (gen_random_uuid()::text, $1, '', '', '', $2, $3, case when $3::timestamptz is not null then 'Disconnected' end)`,
        [deviceId, from, to],
      )
  }
  await add('back', true, [at(2), at(3)], [at(9)])
  await add('stays', true, [at(4)])
  await add('gone', false, [at(2), at(8)], [at(9), at(10)])
  await add('new', false)
  await add('lost', false, [at(3), at(20)], [at(21), at(22)])
  const ask = { projectId: project, limit: 2 }
  const first = await owner.invoke('projects_QueryDevices', { ...ask, sort: 'lastSeenAt' })
  const rest = await owner.invoke('projects_QueryDevices', {
    ...ask,
    sort: 'lastSeenAt',
    limit: 5,
    cursor: first.nextCursor,
  })
  const names = [...first.devices, ...rest.devices].map(({ name }) => name)
  expect(names).toEqual(['new', 'gone', 'lost', 'stays', 'back'])
  const down = await owner.invoke('projects_QueryDevices', { ...ask, sort: '-lastSeenAt', limit: 5 })
  expect(down.devices.map(({ name }) => name)).toEqual(names.toReversed())
})

describe('D10: a device list sorted by name', () => {
  const NAMES = [
    ...['10.0.0.9', '10.0.0.10', 'Äpfel', 'apfel 2', 'device-1', 'Device-02', 'device-2', 'device-10'],
    ...[
      'Øresund',
      'zebra',
      'Αθήνα 2',
      'насос-2',
      'Насос-10',
      'جهاز ٢',
      'جهاز ١٠',
      'पंप-२',
      'पंप-१०',
      '가나',
      '각',
      '水泵2',
      '水泵10',
    ],
  ]
  let project: string
  let organizationId: string
  beforeAll(async () => {
    organizationId = await hub.organization(owner)
    project = await hub.project(owner, organizationId)
    for (const name of NAMES.toSorted()) await deviceRow(hub, project, { name })
  })

  it('has numbers by their value, and ignores case and accents, in pages and in the search', async () => {
    for (const limit of [undefined, 1, 4]) {
      expect(await namesOf('name', limit, undefined, project)).toEqual(NAMES)
      expect(await namesOf('-name', limit, { status: 'disconnected' }, project)).toEqual(NAMES.toReversed())
    }
    for (const text of ['device-', 'vice-']) {
      const found = await owner.invoke('organizations_Search', { organizationId, text })
      expect(found.devices.map(({ name }) => name)).toEqual([
        'device-1',
        'Device-02',
        'device-2',
        'device-10',
      ])
    }
  })

  it('has each device once while an older node renames one, and a job makes its key', async () => {
    const page = (cursor?: string) =>
      owner.invoke('projects_QueryDevices', { projectId: project, sort: 'name', limit: 5, cursor })
    const natural = await page()
    await hub.pool.query(`update device set name = 'device-3' where name = 'device-10' and project_id = $1`, [
      project,
    ])
    const renamed = NAMES.map(name => (name === 'device-10' ? 'device-3' : name))
    const bytewise = await namesOf('name', 4, undefined, project)
    expect(bytewise).toEqual(await namesOf('name', undefined, undefined, project))
    expect(bytewise.toSorted()).toEqual(renamed.toSorted())
    expect((await page(natural.nextCursor)).devices.map(({ name }) => name)).toEqual(
      NAMES.slice(5, 7).concat(NAMES.slice(8, 11)),
    )
    const first = await page()
    expect(await hub.runJob('devices_FillNameKeys', {})).toMatchObject({ status: 'Completed' })
    const second = await page(first.nextCursor)
    expect([...first.devices, ...second.devices].map(({ name }) => name)).toEqual(bytewise.slice(0, 10))
    expect(await namesOf('name', 4, undefined, project)).toEqual(renamed)
  })
})

it('D10: versions are sorted as versions, in pages as in the whole list', async () => {
  const project = await hub.project(owner, await hub.organization(owner))
  const versions = [
    '0.9',
    '1.0~rc1',
    '1.0.0-rc.2',
    '1.0.0-rc.10',
    '1.0.0',
    '1.2.0',
    '1.10.0',
    '2024.2',
    '2024.11',
    '1:0.1',
  ]
  for (const version of [...versions.toSorted(), versions[5]!, undefined]) {
    const deviceId = await deviceRow(hub, project, { name: version ?? 'none' })
    if (version === undefined) continue
    const value = { currentVersion: version }
    await owner.invoke('devices_SetProperty', { deviceId, name: 'dev.nexigon.ota.status', value })
    await owner.invoke('devices_SetProperty', { deviceId, name: 'app.version', value: version })
  }
  const up = versions.toSpliced(5, 0, versions[5]!)
  for (const sort of ['currentVersion', '=app.version'])
    for (const limit of [undefined, 1, 3]) {
      expect(await namesOf(sort, limit, undefined, project)).toEqual([...up, 'none'])
      expect(await namesOf(`-${sort}`, limit, undefined, project)).toEqual([...up.toReversed(), 'none'])
    }
  // A version that no device has any more keeps its place between two pages.
  const ask = { projectId: project, sort: 'currentVersion', limit: 4 }
  const { nextCursor } = await owner.invoke('projects_QueryDevices', ask)
  await hub.pool.query('update device_update set current_version = null where current_version = $1', [up[3]])
  const next = await owner.invoke('projects_QueryDevices', { ...ask, cursor: nextCursor })
  expect(next.devices.map(({ name }) => name)).toEqual(up.slice(4, 8))
  const forged = Buffer.from(JSON.stringify(['=app.version', '1{}', 'd_x'])).toString('base64url')
  const outcome = failed(
    owner.invoke('projects_QueryDevices', { ...ask, sort: '=app.version', cursor: forged }),
  )
  expect(await outcome).toMatchObject({ kind: 'Invalid' })
})

it('C29: problems come first, the gravest first, then by name', async () => {
  const project = await hub.project(owner, await hub.organization(owner))
  const add = (name: string, health: string | null, isConnected = true) =>
    deviceRow(hub, project, { name, health, isConnected })
  const failing = await add('failing', null)
  await add('offline', 'error', false)
  await add('warned-10', 'degraded')
  await add('warned-9', 'degraded')
  await add('broken', 'error')
  await add('fine-10', 'healthy')
  await add('fine-9', null)
  const value = { state: 'failed', lastError: 'disk full' }
  await owner.invoke('devices_SetProperty', { deviceId: failing, name: 'dev.nexigon.ota.status', value })
  const names = ['broken', 'failing', 'warned-9', 'warned-10', 'offline', 'fine-9', 'fine-10']
  for (const limit of [undefined, 1, 3]) {
    expect(await namesOf('problems', limit, undefined, project)).toEqual(names)
    expect(await namesOf('-problems', limit, undefined, project)).toEqual(names.toReversed())
  }
})

describe('the plans at 20,000 devices', () => {
  let large: string
  beforeAll(async () => {
    large = await hub.project(owner, await hub.organization(owner))
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, is_connected, last_connected_at, first_seen)
       select 'd_large' || i, $1, 'd_pk_large' || i, sha256(i::text::bytea), i % 5 > 0, now(), now() - i * interval '1 minute'
         from generate_series(1, 20000) i`,
      [large],
    )
    await hub.pool.query(
      `insert into device_property (device_id, name, value, value_json)
       select 'd_large' || i, name, to_json(i), to_jsonb(i) from generate_series(1, 20000) i, (values ('rank'), ('other')) n (name)`,
    )
    await hub.pool.query(
      `insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
       select 'd_large' || i, 'd_large' || i, '', '', '', now(), now(), 'Disconnected' from generate_series(1, 20000) i`,
    )
    await using session = await databaseSession(hub)
    await session.query('analyze device, device_property, device_connection')
  })

  async function planOf(query: { compile(db: never): { sql: string; parameters: readonly unknown[] } }) {
    const { sql: text, parameters } = query.compile(hub.db as never)
    const { rows } = await hub.pool.query(`explain ${text}`, [...parameters])
    return rows.map(row => row['QUERY PLAN'] as string).join('\n')
  }
  const devices = () =>
    hub.db.selectFrom('device as d').where('d.project_id', '=', large).select('d.device_id')
  const order = { property: 'rank', isDescending: false }

  it('read the entries of the index of values in its order', async () => {
    for (const isDescending of [false, true]) {
      const last = { value: '500', deviceId: 'd_large5' }
      const plan = await planOf(
        windowQuery(devices(), { property: 'rank', isDescending }, { range: 0, last }, 51),
      )
      expect(plan).toMatch(/Index Scan (Backward )?using device_property_value/)
      expect(plan).not.toContain('Sort')
      expect(plan).not.toContain('Seq Scan')
    }
  })

  it('D10: read the next names from their index', async () => {
    const plan = await planOf(
      devices()
        .where(sql<boolean>`(d.name_key, d.device_id) > (${'1a'}::text, ${'d_x'})`)
        .orderBy(sql`d.name_key, d.device_id`)
        .limit(51),
    )
    expect(plan).toContain('device_by_name_key')
    expect(plan).not.toContain('Sort')
  })

  it('D10: read the next devices of a version from the index of values', async () => {
    for (const isDescending of [false, true]) {
      const of = { version: '1.0', afterId: 'd_x', count: 51 }
      const plan = await planOf(versionWindow({ property: 'app.version', isDescending }, of))
      expect(plan).toContain('device_property_value')
      expect(plan).not.toContain('Sort')
    }
  })

  it('look up properties by their keys where the index does not suffice', async () => {
    const plans = [
      await planOf(valuesQuery(devices(), order, { range: 0 }, 51)),
      await planOf(valuesQuery(devices(), order, { range: 4 }, undefined)),
      await planOf(absentQuery(devices(), order, { range: 5 }, 51)),
      await planOf(absentQuery(devices(), order, { range: 5 }, undefined)),
    ]
    for (const plan of plans) {
      expect(plan).toMatch(/Index (Only )?Scan using device_property_(pkey|value) on device_property/)
      expect(plan).not.toContain('Seq Scan on device_property')
    }
    expect(plans[2]).toContain('device_by_first_seen')
  })

  it('read the devices of the project and the last connections of disconnected ones', async () => {
    const plan = await planOf(devices().orderBy(sql`${LAST_SEEN_ORDER} desc, d.device_id desc`).limit(51))
    expect(plan).toContain('device_connection_device')
    expect(plan).not.toContain('Seq Scan on device_connection')
    expect(plan).toContain('Sort')
  })
})
