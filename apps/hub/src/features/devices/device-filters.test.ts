import { type ActionInput, MAX_PROPERTY_CONDITIONS } from '@muster/actions'
import { ask, deviceRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>
type Conditions = NonNullable<Filter['properties']>

let hub: TestHub
let owner: TestUser
let projectId: string

/** Properties of the devices of the project, keyed by the name of the device. */
const PROPERTIES: Record<string, Record<string, unknown>> = {
  crane: { version: '2.4.1', floor: 4, 'site.name': 'Pier 4', isSpare: false, ota: { status: 'FAILED' } },
  ferry: { version: '2.10.0', floor: 12.5, 'site.name': 'pier 9', isSpare: true, ota: { status: 'IDLE' } },
  gate: { version: 4, floor: '12', note: null, 'site.name': '100 %', tags: ['a', 'b'] },
  lift: { version: ['2.4.1'], floor: -1, note: 'x'.repeat(3000), 'site.name': 'odd \0 text' },
  new: {},
}

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  const organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  for (const [name, properties] of Object.entries(PROPERTIES)) await addDevice(projectId, name, properties)
  const neighbour = await hub.project(owner, organizationId)
  await addDevice(neighbour, 'neighbour', PROPERTIES.crane!)
})
afterAll(() => hub[Symbol.asyncDispose]())

async function addDevice(
  projectId: string,
  name: string,
  properties: Record<string, unknown>,
): Promise<void> {
  const deviceId = await deviceRow(hub, projectId, { name })
  for (const [property, value] of Object.entries(properties))
    await owner.invoke('devices_SetProperty', { deviceId, name: property, value })
}

async function found(filter: Filter): Promise<string[]> {
  const { devices, total } = await owner.invoke('projects_QueryDevices', {
    projectId,
    filter,
    sort: 'name',
    limit: 100,
  })
  expect(total).toBe(devices.length)
  return devices.map(device => device.name!)
}

const where = (...properties: Conditions): Promise<string[]> => found({ properties })

describe('a condition on a property', () => {
  it.each<[Conditions[number], string[]]>([
    [{ property: 'version', operator: 'exists' }, ['crane', 'ferry', 'gate', 'lift']],
    [{ property: 'note', operator: 'exists' }, ['gate', 'lift']],
    [{ property: 'note', operator: 'absent' }, ['crane', 'ferry', 'new']],
    [{ property: 'version', operator: 'equals', value: '2.4.1' }, ['crane']],
    [{ property: 'version', operator: 'notEquals', value: '2.4.1' }, ['ferry', 'gate', 'lift', 'new']],
    [{ property: 'version', operator: 'equals', value: '4' }, []],
    [{ property: 'version', operator: 'equals', value: 4 }, ['gate']],
    [{ property: 'floor', operator: 'equals', value: 12.5 }, ['ferry']],
    [{ property: 'isSpare', operator: 'equals', value: false }, ['crane']],
    [{ property: 'note', operator: 'equals', value: null }, ['gate']],
    [{ property: 'floor', operator: 'less', value: 4 }, ['lift']],
    [{ property: 'floor', operator: 'less', value: 100 }, ['crane', 'ferry', 'lift']],
    [{ property: 'floor', operator: 'greater', value: 4 }, ['ferry']],
    [{ property: 'isSpare', operator: 'greater', value: 0 }, []],
    [{ property: 'site.name', operator: 'contains', value: 'PIER' }, ['crane', 'ferry']],
    [{ property: 'site.name', operator: 'contains', value: '0 %' }, ['gate']],
    [{ property: 'site.name', operator: 'contains', value: 'odd' }, ['lift']],
    [{ property: 'site.name', operator: 'contains', value: '"' }, ['lift']],
    [{ property: 'floor', operator: 'contains', value: '2' }, ['ferry', 'gate']],
    [{ property: 'ota', operator: 'contains', value: '"failed"' }, ['crane']],
    [{ property: 'tags', operator: 'equals', value: 'a' }, []],
    [{ property: 'never.heard.of', operator: 'absent' }, ['crane', 'ferry', 'gate', 'lift', 'new']],
  ])('%j finds %j', async (condition, names) => {
    expect(await where(condition)).toEqual(names)
  })

  it('is combined with other conditions, a text and a status by `and`', async () => {
    expect(
      await where(
        { property: 'version', operator: 'notEquals', value: '2.4.1' },
        { property: 'version', operator: 'exists' },
        { property: 'floor', operator: 'greater', value: 0 },
      ),
    ).toEqual(['ferry'])
    const properties: Conditions = [{ property: 'floor', operator: 'exists' }]
    expect(await found({ properties, text: 'GATE' })).toEqual(['gate'])
    expect(await found({ properties, status: 'connected' })).toEqual([])
    expect(await found({ properties: [] })).toEqual(Object.keys(PROPERTIES))
  })

  it('matches the current value after a change and a removal of the property', async () => {
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId, filter: { text: 'new' } })
    // The text may also be part of the random id of another device.
    const { deviceId } = devices.find(({ name }) => name === 'new')!
    const condition: Conditions[number] = { property: 'stage', operator: 'equals', value: 'two' }
    await owner.invoke('devices_SetProperty', { deviceId, name: 'stage', value: 'one' })
    expect(await where(condition)).toEqual([])
    await owner.invoke('devices_SetProperty', { deviceId, name: 'stage', value: 'two' })
    expect(await where(condition)).toEqual(['new'])
    await owner.invoke('devices_RemoveProperty', { deviceId, name: 'stage' })
    expect(await where(condition)).toEqual([])
  })

  it('applies to every page of a list', async () => {
    const filter: Filter = { properties: [{ property: 'version', operator: 'exists' }] }
    const ask = { projectId, filter, sort: '-name', limit: 3 }
    const first = await owner.invoke('projects_QueryDevices', ask)
    expect(first).toMatchObject({
      total: 4,
      devices: [{ name: 'lift' }, { name: 'gate' }, { name: 'ferry' }],
    })
    const last = await owner.invoke('projects_QueryDevices', { ...ask, cursor: first.nextCursor })
    expect(last).toEqual({ devices: [expect.objectContaining({ name: 'crane' })] })
  })

  it.each([
    [{ property: 'a b', operator: 'exists' }, 'property'],
    [{ property: 'a', operator: 'like', value: 'x' }, 'operator'],
    [{ property: 'a', operator: 'equals' }, 'value'],
    [{ property: 'a', operator: 'equals', value: {} }, 'value'],
    [{ property: 'a', operator: 'equals', value: 'x'.repeat(257) }, 'value'],
    [{ property: 'a', operator: 'contains', value: '' }, 'value'],
    [{ property: 'a', operator: 'contains', value: 4 }, 'value'],
    [{ property: 'a', operator: 'less', value: '4' }, 'value'],
  ])('is refused when it is %j', async (condition, field) => {
    await expect(where(condition as never)).rejects.toMatchObject({
      kind: 'Invalid',
      issues: [{ path: `filter.properties.0.${field}` }],
    })
  })

  it('is refused beyond the limit of conditions', async () => {
    const properties: Conditions = Array(MAX_PROPERTY_CONDITIONS).fill({
      property: 'floor',
      operator: 'exists',
    })
    expect(await found({ properties })).toHaveLength(4)
    await expect(where(...properties, properties[0]!)).rejects.toMatchObject({
      kind: 'Invalid',
      issues: [{ path: 'filter.properties' }],
    })
  })
})

describe('a condition on version, update or last seen', () => {
  let other: string
  const found = async (...fields: NonNullable<Filter['fields']>) => {
    const filter = { fields }
    const { devices } = await owner.invoke('projects_QueryDevices', {
      projectId: other,
      filter,
      sort: 'name',
    })
    return devices.map(device => device.name!)
  }
  beforeAll(async () => {
    other = await hub.project(owner, await hub.organization(owner))
    const add = async (name: string, isConnected: boolean, endedHoursAgo?: number, status?: object) => {
      const deviceId = await deviceRow(hub, other, { name, isConnected })
      if (endedHoursAgo !== undefined) {
        await hub.pool.query(
          `with made as (
             insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
             values ('d_conn_' || $1, $1, '', '', '', now() - make_interval(hours => $2 + 1), now() - make_interval(hours => $2), 'Disconnected')
             returning connected_at)
           update device set last_connected_at = (select connected_at from made) where device_id = $1`,
          [deviceId, endedHoursAgo],
        )
      }
      if (status)
        await owner.invoke('devices_SetProperty', { deviceId, name: 'dev.nexigon.ota.status', value: status })
    }
    await add('crane', true, 90, { state: 'completed', currentVersion: '2.23.0' })
    await add('ferry', false, 2, { state: 'FAILED', currentVersion: '2.22.4' })
    await add('gate', false, 50, { state: 'completed', currentVersion: '2.23.0-rc1' })
    await add('lift', false, undefined, { state: 'installing' })
    await add('new', false)
  })

  it.each<[NonNullable<Filter['fields']>[number], string[]]>([
    [{ field: 'version', operator: 'equals', value: '2.23.0' }, ['crane']],
    [{ field: 'version', operator: 'notEquals', value: '2.23.0' }, ['ferry', 'gate', 'lift', 'new']],
    [{ field: 'version', operator: 'contains', value: '2.23' }, ['crane', 'gate']],
    [{ field: 'version', operator: 'exists' }, ['crane', 'ferry', 'gate']],
    [{ field: 'version', operator: 'absent' }, ['lift', 'new']],
    [{ field: 'update', operator: 'equals', value: 'failed' }, ['ferry']],
    [{ field: 'update', operator: 'contains', value: 'ST' }, ['lift']],
    [{ field: 'update', operator: 'absent' }, ['new']],
    [{ field: 'lastSeen', operator: 'greater', value: 3600 }, ['ferry', 'gate']],
    [{ field: 'lastSeen', operator: 'greater', value: 86_400 }, ['gate']],
    [{ field: 'lastSeen', operator: 'less', value: 86_400 }, ['crane', 'ferry']],
    [{ field: 'lastSeen', operator: 'exists' }, ['crane', 'ferry', 'gate']],
    [{ field: 'lastSeen', operator: 'absent' }, ['lift', 'new']],
  ])('%j finds %j', async (condition, names) => {
    expect(await found(condition)).toEqual(names)
  })

  it('is combined with others, and refused where the operator does not fit', async () => {
    expect(
      await found(
        { field: 'version', operator: 'exists' },
        { field: 'lastSeen', operator: 'less', value: 86_400 },
        { field: 'update', operator: 'notEquals', value: 'completed' },
      ),
    ).toEqual(['ferry'])
    for (const wrong of [
      { field: 'version', operator: 'less', value: 1 },
      { field: 'lastSeen', operator: 'equals', value: '1' },
      { field: 'lastSeen', operator: 'greater', value: 0 },
      { field: 'lastSeen', operator: 'greater', value: 1e12 },
      { field: 'name', operator: 'exists' },
    ])
      await expect(found(wrong as never)).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('has suggested versions and states with their numbers of devices', async () => {
    const ask = { projectId: other, property: '#version' as const }
    expect(await owner.invoke('projects_QueryPropertyValues', ask)).toMatchObject({
      values: [
        { value: '2.22.4', deviceCount: 1 },
        { value: '2.23.0', deviceCount: 1 },
        { value: '2.23.0-rc1', deviceCount: 1 },
      ],
      absentCount: 2,
    })
    const states = await owner.invoke('projects_QueryPropertyValues', { ...ask, property: '#update' })
    expect(states.values[0]).toEqual({ value: 'completed', deviceCount: 2 })
  })
})

it('stores numbers and texts that are too long for an index entry', async () => {
  const deviceId = await deviceRow(hub, await hub.project(owner, await hub.organization(owner)))
  for (const value of [
    '1'.repeat(900),
    `1e${'1'.repeat(4)}`,
    `"${'\\u0001'.repeat(5000)}"`,
    `0.${'123456789'.repeat(1000)}`,
  ]) {
    const answer = await ask(hub, '/api/v1/actions/invoke/devices_SetProperty', {
      as: owner,
      body: `{"deviceId":"${deviceId}","name":"long","value":${value}}`,
    })
    expect(answer.json()).toEqual({ result: 'Set' })
    const { rows } = await sql<{ value: string }>`
      select value::text from device_property where device_id = ${deviceId}`.execute(hub.db)
    expect(rows).toEqual([{ value }])
  }
})
