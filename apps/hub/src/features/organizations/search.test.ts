import { databaseSession, deviceRow, type TestHub, type TestUser, testHub, until } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devicesByStart, matchesSearch, searchDevices } from '../devices/device-search.ts'

const NEVER = new AbortController().signal

let hub: TestHub
let owner: TestUser
let organizationId: string
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  ;({ owner, organizationId, projectId } = await hub.fleet())
  await owner.invoke('projects_SetName', { projectId, name: 'Harbor cranes' })
})
afterAll(() => hub[Symbol.asyncDispose]())

const search = (text: string, limit?: number) =>
  owner.invoke('organizations_Search', { organizationId, text, limit })
const named = async (text: string, limit?: number) => {
  const { projects, repositories, devices } = await search(text, limit)
  return [
    ...projects.map(({ name }) => name),
    ...repositories.map(({ displayName }) => displayName),
    ...devices.map(({ name, hostname }) => name ?? hostname),
  ]
}

describe('organizations_Search', () => {
  it('finds projects, repositories and devices by a part of name, host name or id, in any case', async () => {
    const repositoryId = await hub.repository(owner, organizationId, { name: 'Crane software' })
    const deviceId = await deviceRow(hub, projectId, { name: 'old crane', isConnected: true })
    await deviceRow(hub, projectId, { name: 'Crane 7' })
    const unnamed = await deviceRow(hub, projectId, { name: null, hostname: 'crane-gw' } as object)
    const found = await search('CRANE')
    expect(found.projects).toEqual([{ projectId, name: 'Harbor cranes' }])
    expect(found.repositories).toMatchObject([{ repositoryId, displayName: 'Crane software' }])
    // Names that begin with the text come before names that only contain it.
    expect(found.devices.map(({ name, hostname }) => name ?? hostname)).toEqual([
      'Crane 7',
      'crane-gw',
      'old crane',
    ])
    expect(found.devices[2]).toEqual({
      deviceId,
      name: 'old crane',
      projectId,
      projectName: 'Harbor cranes',
      isConnected: true,
      status: 'healthy',
      pendingCertificatesCount: 0,
      match: { field: 'name', value: 'old crane', start: 4, end: 9 },
    })
    for (const id of [deviceId, unnamed.slice(2), projectId, repositoryId])
      expect(await named(id)).toHaveLength(1)
  })

  it('matches wildcard characters literally', async () => {
    await deviceRow(hub, projectId, { name: '50 % of a_b\\c' })
    for (const text of ['50 %', 'a_b', 'b\\c', '% of a_'])
      expect(await named(text)).toEqual(['50 % of a_b\\c'])
    for (const text of ['50%', 'a%b', 'a_c', '_____'] as const) expect(await named(text)).toEqual([])
    await expect(search('')).rejects.toMatchObject({ kind: 'Invalid' })
    await expect(search('a\0')).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('answers up to `limit` results of each kind, and none of other organizations', async () => {
    for (let n = 0; n < 12; n++) await deviceRow(hub, projectId, { name: `pump ${n}` })
    expect(await named('pump')).toHaveLength(8)
    expect(await named('pump', 2)).toEqual(['pump 0', 'pump 1'])
    expect(await named('pump', 50)).toHaveLength(12)
    const other = await hub.fleet()
    await deviceRow(hub, other.projectId, { name: 'pump of others' })
    expect(await named('of others')).toEqual([])
    await expect(
      other.owner.invoke('organizations_Search', { organizationId, text: 'pump' }),
    ).rejects.toMatchObject({ kind: 'Forbidden' })
  })
})

describe('a search for an address', () => {
  let deviceId: string
  let other: string

  beforeAll(async () => {
    deviceId = await deviceRow(hub, projectId, { name: 'reefer-2214' })
    other = await deviceRow(hub, projectId, { name: 'reefer-2215' })
    await setNetworks(deviceId, [
      { name: 'lo', macAddress: '00:00:00:00:00:00', ipAddresses: ['127.0.0.1/8', '::1/128'] },
      {
        name: 'eth0',
        macAddress: 'B8-27-EB-4A-10-7F',
        ipAddresses: ['10.20.4.17/24', '2001:0DB8:0:0::00a7/64', 'fe80::ba27:ebff:fe4a:107f/64'],
      },
    ])
    await setNetworks(other, [
      { name: 'wlan0', macAddress: 'b8:27:eb:4b:00:01', ipAddresses: ['10.20.40.8/24', '10.2.0.4/8'] },
    ])
  })

  const setNetworks = (id: string, networks: unknown) =>
    owner.invoke('devices_SetProperty', {
      deviceId: id,
      name: 'dev.nexigon.system.info',
      value: { hostname: `host-${id.slice(-4).toLowerCase()}`, networks },
    })
  const matches = async (text: string) =>
    (await search(text)).devices.map(({ name, match }) => [name, match.value.slice(match.start, match.end)])

  it.each([
    ['10.20.4.17', '10.20.4.17'],
    ['10.20.4.', '10.20.4.'],
    ['10.20.4.17/24', '10.20.4.17'],
    ['2001:db8::a7', '2001:db8::a7'],
    ['2001:0DB8:0000:0000:0000:0000:0000:00A7', '2001:db8::a7'],
    ['2001:0db8:', '2001:db8:'],
    ['fe80::ba27', 'fe80::ba27'],
    ['b8:27:eb:4a:10:7f', 'b8:27:eb:4a:10:7f'],
    ['B8-27-EB-4A', 'b8:27:eb:4a'],
    ['b827.eb4a.1', 'b8:27:eb:4a:1'],
    ['b827eb4a107f', 'b8:27:eb:4a:10:7f'],
    ['4A-10-7F', '4a:10:7f'],
    ['4a:10:7', '4a:10:7'],
    ['4a107f', '4a:10:7f'],
  ])('finds the device by %s', async (text, part) => {
    expect(await matches(text)).toEqual([['reefer-2214', part]])
  })

  it('finds beginnings only, and several devices in the order of their addresses', async () => {
    expect(await matches('10.20.4')).toEqual([
      ['reefer-2214', '10.20.4'],
      ['reefer-2215', '10.20.4'],
    ])
    for (const text of ['0.20.4', '20.4.17', '127.0.0.1', '00:00:00', '27:eb', '::1', '10.20.5'])
      expect(await matches(text)).toEqual([])
    const [found] = (await search('b8:27:eb:4b')).devices
    expect(found?.match).toEqual({
      field: 'mac',
      value: 'b8:27:eb:4b:00:01',
      start: 0,
      end: 11,
      interface: 'wlan0',
    })
  })

  it('finds host names by their start before parts of names, and the device with that id first', async () => {
    await deviceRow(hub, projectId, { name: 'ex-host-1' })
    await deviceRow(hub, projectId, { name: 'tail', hostname: 'HOST-zz' } as object)
    const { devices } = await search('host-')
    expect(devices.map(({ match }) => match.field)).toEqual(['hostname', 'hostname', 'hostname', 'name'])
    expect(devices.at(-1)?.name).toBe('ex-host-1')
    await deviceRow(hub, projectId, { name: deviceId })
    expect((await search(deviceId)).devices.map(({ match }) => match.field)).toEqual(['id', 'name'])
  })

  it('says that more devices match', async () => {
    expect(await search('reefer', 1)).toMatchObject({ devices: [{}], hasMoreDevices: true })
    expect(await search('reefer', 2)).toMatchObject({
      devices: [{}, {}],
      hasMoreDevices: false,
      isCut: false,
    })
  })

  it('finds no devices of other organizations', async () => {
    const stranger = await hub.fleet()
    const { devices } = await stranger.owner.invoke('organizations_Search', {
      organizationId: stranger.organizationId,
      text: '10.20.4.17',
    })
    expect(devices).toEqual([])
  })

  it('reads no table from end to end among 20,000 devices', async () => {
    const strange = await hub.organization(owner)
    const large = await hub.project(owner, strange)
    await hub.pool.query(
      `with d as (
         insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, hostname)
         select 'd_wide' || i, $1, 'd_pk_wide' || i, convert_to('wide' || i, 'UTF8'), 'wide-' || i, 'gw-' || i
           from generate_series(1, 20000) i returning device_id, project_id, substr(device_id, 7)::integer as i
       )
       insert into device_address (device_id, project_id, address, is_mac)
       select device_id, project_id, '10.' || i / 65536 || '.' || i / 256 % 256 || '.' || i % 256, false from d
       union all select device_id, project_id, lpad(to_hex(i), 12, 'b827eb000000'), true from d`,
      [large],
    )
    await using session = await databaseSession(hub)
    await session.query('analyze device, device_address, project')
    for (const text of ['gw-77', 'b827eb', '10.0.1', 'd_wide77']) {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain ${devicesByStart(strange, text, 9)}`.execute(hub.db)
      const plan = rows.map(row => row['QUERY PLAN']).join('\n')
      expect(plan).not.toMatch(/Seq Scan on (device|device_address|device_connection)/)
      expect(plan).toContain('device_by_name_start')
      expect(plan).toContain('device_by_hostname_start')
      if (text === '10.0.1') expect(plan).toContain('device_address_by_start')
      if (text === 'b827eb') expect(plan).toContain('device_address_by_mac_end')
    }
    // The last argument limits the search to 1 ms. In the hub, the limit is 2 s.
    expect(await searchDevices(hub.db, NEVER, strange, 'ide-777', 8, 1)).toEqual({
      devices: [],
      hasMore: false,
      isCut: true,
    })
    expect(await searchDevices(hub.db, NEVER, strange, 'wide-777', 8)).toMatchObject({
      devices: { length: 8 },
      hasMore: true,
      isCut: false,
    })
  })
})

describe('a search for labels and values', () => {
  let deviceId: string
  let other: string

  beforeAll(async () => {
    deviceId = await deviceRow(hub, projectId, { name: 'winch' })
    other = await deviceRow(hub, projectId, { name: 'my quay7 winch' })
    await owner.invoke('devices_SetLabels', {
      deviceId,
      set: { berth: 'Quay7 north', 'ring.of': 'canary' },
      remove: [],
    })
    const properties = {
      device: { model: 'T4', serial: 'MS2400012345' },
      'board.serialNumber': 'zz-77-a',
      'app.channel': 'Quay7',
      deck: 4711,
      deep: { channel: 'quay7' },
    }
    for (const [name, value] of Object.entries(properties))
      await owner.invoke('devices_SetProperty', { deviceId, name, value })
  })

  const BERTH = { field: 'label', name: 'berth', value: 'berth=Quay7 north' }
  const SERIAL = { field: 'serial', name: 'device.serial', value: 'MS2400012345' }

  it.each([
    ['quay7 n', []],
    ['Quay7 n', [{ ...BERTH, start: 6, end: 13 }]],
    ['berth', [{ ...BERTH, start: 0, end: 5 }]],
    ['berth=', [{ ...BERTH, start: 0, end: 6 }]],
    ['BERTH=Quay7', [{ ...BERTH, start: 0, end: 11 }]],
    ['berth=pier', []],
    ['erth', []],
    ['ms24000123', [{ ...SERIAL, start: 0, end: 10 }]],
    ['ZZ-77', [{ field: 'serial', name: 'board.serialNumber', value: 'zz-77-a', start: 0, end: 5 }]],
    ['4711', [{ field: 'property', name: 'deck', value: '4711', start: 0, end: 4 }]],
    ['471', []],
    ["Q'; drop table device; --", []],
  ])('finds the device by %s', async (text, expected) => {
    const { devices } = await search(text)
    expect(devices.map(device => device.match)).toEqual(expected)
    const listed = await owner.invoke('projects_QueryDevices', { projectId, filter: { text }, limit: 50 })
    expect(listed.devices.map(device => [device.deviceId, device.match])).toEqual(
      expected.map(match => [deviceId, match]),
    )
    expect(listed.total).toBe(expected.length)
  })

  it('has labels before parts of names, and these before properties', async () => {
    const third = await deviceRow(hub, projectId, { name: 'capstan' })
    await owner.invoke('devices_SetProperty', { deviceId: third, name: 'app.channel', value: 'Quay7' })
    const { devices } = await search('Quay7')
    expect(devices.map(device => [device.deviceId, device.match.field])).toEqual([
      [deviceId, 'label'],
      [other, 'name'],
      [third, 'property'],
    ])
    expect(await search('Quay7', 2)).toMatchObject({ devices: [{}, {}], hasMoreDevices: true })
    const listed = await owner.invoke('projects_QueryDevices', {
      projectId,
      filter: { text: 'Quay7' },
      sort: 'name',
      limit: 50,
    })
    expect(listed.devices.map(device => [device.deviceId, device.match?.field])).toEqual([
      [third, 'property'],
      [other, 'name'],
      [deviceId, 'label'],
    ])
  })

  it('finds nothing of other organizations', async () => {
    const foreign = await hub.fleet()
    const input = { organizationId: foreign.organizationId }
    await deviceRow(hub, foreign.projectId, { name: 'foreign' })
    for (const text of ['Quay7', 'berth', 'berth=Quay7', 'MS2400012345', 'zz-77', '4711']) {
      const found = await foreign.owner.invoke('organizations_Search', { ...input, text })
      expect(found.devices, text).toEqual([])
    }
  })

  it('reads no table from end to end among 20,000 devices', async () => {
    const large = await hub.project(owner, await hub.organization(owner))
    await hub.pool.query(
      `with d as (
         insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
         select 'd_' || lpad(translate(i::text, '0', 'z'), 22, 'A'), $1, 'd_pk_value' || i, convert_to('value' || i, 'UTF8')
           from generate_series(1, 20000) i returning device_id, substr(fingerprint_id, 11)::integer as i
       )
       insert into device_property (device_id, name, value, value_json, protected)
       select device_id, 'dev.muster.labels', value::json, value, true
         from d, lateral (select jsonb_build_object('lot', 'lot ' || i) as value) v
       union all select device_id, 'unit', value::json, value, false
         from d, lateral (select jsonb_build_object('serial', 'unit' || i) as value) v
       union all select device_id, 'rope', value::json, value, false
         from d, lateral (select to_jsonb('rope ' || i) as value) v`,
      [large],
    )
    await using session = await databaseSession(hub)
    await session.query('analyze device, device_label, device_property')
    for (const [text, found] of [
      ['lot 19999', 1],
      ['unit7777', 1],
      ['rope 12345', 1],
      ['lot', 50],
    ] as const) {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain select from device d where d.project_id = ${large} and ${matchesSearch(text, large)}`.execute(
        hub.db,
      )
      const plan = rows.map(row => row['QUERY PLAN']).join('\n')
      // All devices have a label that begins with the last text.
      if (found === 1) expect(plan).not.toMatch(/Seq Scan on (device_label|device_property)/)
      expect(plan).toContain('device_property_serial')
      expect(plan).toContain('device_property_value')
      const filter = { text }
      const listed = await owner.invoke('projects_QueryDevices', { projectId: large, filter, limit: 50 })
      expect(listed.devices, text).toHaveLength(found)
    }
  })
})

it('is cancelled in the database when its person types on', async () => {
  await using session = await databaseSession(hub)
  await session.lock('device_address')
  const typing = new AbortController()
  const found = fetch(`${hub.url}/api/v1/actions/invoke/organizations_Search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: owner.cookie },
    body: JSON.stringify({ organizationId, text: '10.0' }),
    signal: typing.signal,
  }).then(
    () => 'answered',
    () => 'aborted',
  )
  await session.waitingStatements(1)
  typing.abort()
  expect(await found).toBe('aborted')
  await until('no statement waits', async () => {
    const { rows } = await hub.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length === 0
  })
  await session.release()
  expect((await search('10.0')).isCut).toBe(false)
})
