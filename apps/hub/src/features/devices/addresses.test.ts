import { newId } from '@muster/actions'
import { nameKey } from '@muster/predicates/name-key'
import {
  connectDevice,
  databaseSession,
  deviceRow,
  type FakeDevice,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { matchesFilter } from './device-filter.ts'

const SYSTEM_INFO = 'dev.nexigon.system.info'
const OLD_NAME = 'dev.nexigon.systemInfo'
const ETH0 = {
  name: 'eth0',
  macAddress: '02:42:AC:11:00:02',
  ipAddresses: ['172.17.0.2/16', 'FE80::1%eth0/64'],
}
const ETH0_ROWS = [
  ['0242ac110002', 'eth0'],
  ['172.17.0.2', 'eth0'],
  ['fe80::1', 'eth0'],
]

let hub: TestHub
let owner: TestUser
let projectId: string
let organizationId: string
let device: FakeDevice
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  ;({ owner, projectId, organizationId } = fleet)
  device = await connectDevice({ url: hub.url, token: fleet.token })
  deviceId = device.deviceId
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})
beforeEach(async () => {
  for (const name of [SYSTEM_INFO, OLD_NAME]) await owner.invoke('devices_RemoveProperty', { deviceId, name })
})

type Writer = 'device' | 'owner'

/** Sets a property. The hub stores writes of devices and writes of persons by different code, so the tests run with both. */
const set = (value: unknown, by: Writer, name = SYSTEM_INFO) =>
  (by === 'device' ? device : owner).invoke('devices_SetProperty', { deviceId, name, value })

async function rowsOf(id = deviceId) {
  const rows = await hub.db
    .selectFrom('device_address')
    .where('device_id', '=', id)
    .select(['address', 'interface', 'is_mac', 'project_id'])
    .orderBy('address')
    .execute()
  for (const row of rows) {
    expect(row.is_mac).toBe(!/[.:]/.test(row.address))
    expect(row.project_id).toBe(projectId)
  }
  return rows.map(row => [row.address, row.interface])
}

describe.each(['device', 'owner'] as const)('system information set by the %s', by => {
  it('gives the device the rows of its addresses, and each later value replaces them', async () => {
    await set({ networks: [ETH0] }, by)
    expect(await rowsOf()).toEqual(ETH0_ROWS)
    await set({ networks: [{ ...ETH0, name: 'br0', ipAddresses: ['172.17.0.3/16'] }] }, by)
    expect(await rowsOf()).toEqual([
      ['0242ac110002', 'br0'],
      ['172.17.0.3', 'br0'],
    ])
    await set({ hostname: 'pump-7' }, by)
    expect(await rowsOf()).toEqual([])
  })

  it('D10: keeps the key of the name, which the host name gives where the device has no name', async () => {
    const keys = async () =>
      (
        await hub.db
          .selectFrom('device')
          .where('device_id', '=', deviceId)
          .select(['name', 'hostname', 'name_key'])
          .execute()
      )[0]!
    await set({ hostname: 'Pump-7' }, by)
    expect(await keys()).toMatchObject({ name: null, hostname: 'Pump-7', name_key: nameKey('Pump-7') })
    await owner.invoke('devices_SetName', { deviceId, name: 'Ä 10' })
    await set({ hostname: 'pump-8' }, by)
    expect(await keys()).toMatchObject({ hostname: 'pump-8', name_key: nameKey('Ä 10') })
    await owner.invoke('devices_SetName', { deviceId })
    expect(await keys()).toMatchObject({ name: null, name_key: nameKey('pump-8') })
    await owner.invoke('devices_RemoveProperty', { deviceId, name: SYSTEM_INFO })
    expect((await keys()).name_key).toBe(nameKey(''))
  })

  it('does not write rows that stay the same', async () => {
    await set({ networks: [ETH0] }, by)
    const versions = async () =>
      (
        await hub.pool.query('select address, xmin::text from device_address where device_id = $1', [
          deviceId,
        ])
      ).rows
    const before = await versions()
    await set({ networks: [ETH0], memory: { total: 4 } }, 'device')
    expect(await versions()).toEqual(before)
  })

  it.each<[string, unknown, (string | null)[][]]>([
    ['null', null, []],
    ['a text', 'networks', []],
    ['networks that are no list', { networks: { eth0: ETH0 } }, []],
    [
      'members of wrong types',
      { networks: [1, null, { name: 7, macAddress: 8, ipAddresses: '10.0.0.1' }] },
      [],
    ],
    [
      'texts that are no addresses',
      { networks: [{ macAddress: 'xx', ipAddresses: ['10.0.0', '1.2.3.4.5', ''] }] },
      [],
    ],
    ['an address twice', { networks: [ETH0, { ...ETH0, name: 'br0' }] }, ETH0_ROWS],
    ['a network without a name', { networks: [{ ipAddresses: ['10.1.1.1'] }] }, [['10.1.1.1', null]]],
    ['a NUL', { networks: [{ name: 'e\0th', ipAddresses: ['10.1.1.1'] }] }, [['10.1.1.1', 'eth']]],
    [
      'half a pair',
      { networks: [{ name: 'e\ud800', ipAddresses: ['10.1.1.1'] }] },
      [['10.1.1.1', 'e\ufffd']],
    ],
  ])('with %s gives the rows that can be read', async (_what, value, rows) => {
    await set(value, by)
    expect(await rowsOf()).toEqual(rows)
  })

  it('with more than 32 addresses keeps those beyond the local link', async () => {
    const containers = Array.from({ length: 60 }, (_, at) => ({
      name: `veth${at}`,
      macAddress: `aa:bb:cc:00:00:${at.toString(16).padStart(2, '0')}`,
      ipAddresses: [`fe80::${at + 1}/64`],
    }))
    await set({ networks: [...containers, ETH0] }, by)
    const rows = await rowsOf()
    expect(rows).toHaveLength(32)
    expect(rows).toEqual(
      expect.arrayContaining([
        ['0242ac110002', 'eth0'],
        ['172.17.0.2', 'eth0'],
      ]),
    )
  })

  it('leaves no row when it is removed, or the rows of its other name', async () => {
    await set({ networks: [ETH0] }, by, OLD_NAME)
    await set({ networks: [{ ipAddresses: ['10.1.1.1'] }] }, by)
    expect(await rowsOf()).toEqual([['10.1.1.1', null]])
    await owner.invoke('devices_RemoveProperty', { deviceId, name: SYSTEM_INFO })
    expect(await rowsOf()).toEqual(ETH0_ROWS)
    await owner.invoke('devices_RemoveProperty', { deviceId, name: OLD_NAME })
    expect(await rowsOf()).toEqual([])
  })
})

describe('the job that fills the addresses after an upgrade', () => {
  const fill = () => hub.runJob('devices_FillAddresses', {})

  it('fills every device once, also outdated ones, and changes nothing when it is repeated', async () => {
    const ids = Array.from({ length: 60 }, () => newId('d'))
    await hub.pool.query(
      `with added as (
         insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
         select id, $2, 'd_pk_' || id, convert_to(id, 'UTF8') from unnest($1::text[]) id
       )
       insert into device_property (device_id, name, value, value_json, version)
       select id, $3, $4::json, $4::jsonb, 7 from unnest($1::text[]) id`,
      [ids, projectId, SYSTEM_INFO, JSON.stringify({ networks: [ETH0] })],
    )
    expect(await fill()).toMatchObject({ status: 'Completed' })
    for (const id of [ids[0]!, ids.at(-1)!]) expect(await rowsOf(id)).toEqual(ETH0_ROWS)
    const versions = async () =>
      (await hub.pool.query('select xmin::text from device order by device_id')).rows
    const before = await versions()
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await versions()).toEqual(before)
    // Simulates a node with an older version of the hub, which writes the property but not the rows in `device_address`.
    await hub.pool.query(`update device_property set version = 8, value = '{}' where device_id = $1`, [
      ids[0],
    ])
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await rowsOf(ids[0])).toEqual([])
    expect(await rowsOf(ids[1])).toEqual(ETH0_ROWS)
  })
})

it('follows a device that repeats its networks after a person has changed or removed them', async () => {
  await set({ networks: [ETH0] }, 'device')
  await set({ networks: [ETH0], disks: [] }, 'device')
  await set({ networks: [{ ipAddresses: ['10.1.1.1'] }] }, 'owner')
  await set({ networks: [ETH0] }, 'device')
  expect(await rowsOf()).toEqual(ETH0_ROWS)
  await owner.invoke('devices_RemoveProperty', { deviceId, name: SYSTEM_INFO })
  await set({ networks: [ETH0] }, 'device')
  expect(await rowsOf()).toEqual(ETH0_ROWS)
  await set({ networks: [ETH0] }, 'device', OLD_NAME)
  await set({ networks: [] }, 'owner', OLD_NAME)
  await set({ networks: [ETH0] }, 'device')
  expect(await rowsOf()).toEqual(ETH0_ROWS)
})

it('C29: finds devices of a list by the beginning of an address in any notation, without reading all addresses', async () => {
  const others = await hub.project(owner, await hub.organization(owner))
  const value = {
    networks: [
      { name: 'wan0', macAddress: '02:9A:BC:DE:F0:11', ipAddresses: ['192.0.2.17/24', '2001:DB8:7::1/64'] },
    ],
  }
  await set(value, 'owner')
  const foreign = await deviceRow(hub, others)
  await owner.invoke('devices_SetProperty', { deviceId: foreign, name: SYSTEM_INFO, value })
  const found = async (address: string) => {
    const { devices } = await owner.invoke('projects_QueryDevices', {
      projectId,
      filter: { address },
      limit: 10,
    })
    return devices.map(device => device.deviceId)
  }
  for (const text of [
    '192.0.2.',
    '2001:DB8:7',
    '02:9a',
    '02-9A-BC-DE-F0-11',
    '029a.bcde',
    'DEF011',
    'de-f0-11',
  ])
    expect(await found(text), text).toEqual([deviceId])
  for (const text of ['0.2.17', '203.0.', 'wan0', '9a-bc']) expect(await found(text), text).toEqual([])
  // C29: the text of the list finds what the search of the console finds.
  for (const text of [
    '192.0.2.',
    '2001:DB8:7',
    '029a.bcde',
    'de-f0-11',
    deviceId.slice(3, 12).toLowerCase(),
  ]) {
    const input = { projectId, filter: { text }, limit: 10 }
    const { devices } = await owner.invoke('projects_QueryDevices', input)
    const search = await owner.invoke('organizations_Search', { organizationId, text })
    expect(
      devices.map(device => device.deviceId),
      text,
    ).toEqual([deviceId])
    expect(
      search.devices.filter(one => one.projectId === projectId).map(one => one.deviceId),
      text,
    ).toEqual([deviceId])
  }

  await hub.pool.query(
    `with added as (
       insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_address' || i, $1, 'd_pk_address' || i, convert_to('address' || i, 'UTF8') from generate_series(1, 5000) i
       returning device_id
     )
     insert into device_address (device_id, project_id, address, is_mac)
     select device_id, $1, '10.' || substr(device_id, 10), false from added`,
    [others],
  )
  await using session = await databaseSession(hub)
  await session.query('analyze device, device_address')
  const { rows } = await sql<{ 'QUERY PLAN': string }>`
    explain select from device d where d.project_id = ${others} and ${await matchesFilter(hub.db, { address: '10.77' }, others)}`.execute(
    hub.db,
  )
  expect(rows.map(row => row['QUERY PLAN']).join('\n')).not.toContain('Seq Scan on device_address')
})

it('removes the addresses with their device', async () => {
  const id = await deviceRow(hub, projectId)
  await owner.invoke('devices_SetProperty', { deviceId: id, name: SYSTEM_INFO, value: { networks: [ETH0] } })
  expect(await rowsOf(id)).toEqual(ETH0_ROWS)
  await owner.invoke('devices_Delete', { deviceId: id })
  expect(await rowsOf(id)).toEqual([])
})
