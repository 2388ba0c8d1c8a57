import { MAX_PROPERTY_VALUE_BYTES } from '@muster/actions'
import {
  ask,
  connectDevice,
  databaseSession,
  deviceRow,
  type FakeDevice,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Caller } from '../../platform/pipeline/caller.ts'

let hub: TestHub
let owner: TestUser
let device: FakeDevice
let deviceId: string
let tokenId: string
let asDevice: Caller & { actor: 'Device' }

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  const { organizationId, projectId } = fleet
  ;({ owner, tokenId } = fleet)
  device = await connectDevice({ url: hub.url, token: fleet.token })
  deviceId = device.deviceId
  asDevice = { actor: 'Device', deviceId, tokenId, projectId, organizationId }
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})
// Removing a property raises `property_version_floor`, and new properties get versions above it. The reset keeps one test from changing
// the versions in the next.
beforeEach(() => hub.db.updateTable('device').set({ property_version_floor: 0 }).execute())

describe('devices_QueryPropertyHistory', () => {
  it('lists each change of the value with its actor, newest first', async () => {
    const property = { deviceId, name: 'site' }
    await device.invoke('devices_SetProperty', { ...property, value: 'Pier 3' })
    await device.invoke('devices_SetProperty', { ...property, value: 'Pier 3' })
    await owner.invoke('devices_SetProperty', { ...property, value: null })
    await owner.invoke('devices_RemoveProperty', property)
    await device.invoke('devices_SetProperty', { deviceId, name: 'other', value: 1 })

    const byDevice = { actor: 'Device', deviceId, tokenId }
    const byOwner = { actor: 'User', userId: owner.userId }
    const changedAt = expect.stringMatching(/Z$/)
    const unnamed = await owner.invoke('devices_QueryPropertyHistory', property)
    expect(unnamed).toEqual({
      changes: [
        { version: 4, isRemoved: true, actor: byOwner, actorName: owner.email, changedAt },
        { version: 3, value: null, isRemoved: false, actor: byOwner, actorName: owner.email, changedAt },
        { version: 1, value: 'Pier 3', isRemoved: false, actor: byDevice, changedAt },
      ],
    })
    await owner.invoke('devices_SetName', { deviceId, name: 'crane-01' })
    await owner.invoke('users_SetDisplayName', { userId: owner.userId, displayName: 'Ada' })
    const { changes } = await owner.invoke('devices_QueryPropertyHistory', property)
    expect(changes.map(change => change.actorName)).toEqual(['Ada', 'Ada', 'crane-01'])
  })

  it('returns values exactly as they were sent', async () => {
    const texts = ['1.0', '12345678901234567890', '"\\u0000"', '{"b": 1,"a":[ ]}', '1e999']
    for (const text of texts) {
      const body = `{"deviceId":"${deviceId}","name":"exact","value":${text}}`
      await ask(hub, '/api/v1/actions/invoke/devices_SetProperty', { as: owner, body })
    }
    const { text } = await ask(hub, '/api/v1/actions/invoke/devices_QueryPropertyHistory', {
      as: owner,
      body: { deviceId, name: 'exact', sort: 'changedAt' },
    })
    const valueTexts = [...text.matchAll(/"value":(.*?),"isRemoved":false/g)].map(([, value]) => value)
    expect(valueTexts).toEqual(texts)
  })

  it('returns the latest 100 changes by default, and none for an unknown property', async () => {
    for (let value = 1; value <= 102; value++)
      await device.invoke('devices_SetProperty', { deviceId, name: 'counter', value })
    const bare = await owner.invoke('devices_QueryPropertyHistory', { deviceId, name: 'counter' })
    expect(bare.changes.map(({ value }) => value)).toEqual(Array.from({ length: 100 }, (_, at) => 102 - at))
    const rest = await owner.invoke('devices_QueryPropertyHistory', {
      deviceId,
      name: 'counter',
      cursor: bare.nextCursor,
    })
    expect(rest).toMatchObject({ changes: [{ value: 2 }, { value: 1 }] })
    expect(rest.nextCursor).toBeUndefined()
    expect(await owner.invoke('devices_QueryPropertyHistory', { deviceId, name: 'never.set' })).toEqual({
      changes: [],
    })
  })

  it('adds the actor of the last change to each property of a list', async () => {
    await device.invoke('devices_SetProperty', { deviceId, name: 'by.device', value: 1 })
    await owner.invoke('devices_SetProperty', { deviceId, name: 'by.person', value: 1 })
    await device.invoke('devices_SetProperty', { deviceId, name: 'dev.nexigon.system.info', value: {} })
    const { properties } = await owner.invoke('devices_QueryProperties', { deviceId, withActors: true })
    expect(properties['by.device']?.changedBy).toMatchObject({ actor: { actor: 'Device' } })
    expect(properties['by.person']?.changedBy?.actor).toEqual({ actor: 'User', userId: owner.userId })
    expect(properties['dev.nexigon.system.info']).not.toHaveProperty('changedBy')
    const bare = await owner.invoke('devices_QueryProperties', { deviceId, limit: 1 })
    expect(Object.values(bare.properties)[0]).not.toHaveProperty('changedBy')
  })

  it('ends a page early when values are large, and continues there', async () => {
    const value = (digit: number): string => String(digit).repeat(MAX_PROPERTY_VALUE_BYTES - 2)
    for (let digit = 0; digit < 9; digit++)
      await owner.invoke('devices_SetProperty', { deviceId, name: 'large', value: value(digit) })
    const seen: string[] = []
    const sizes: number[] = []
    for (let cursor: string | undefined; ; ) {
      const body = { deviceId, name: 'large', limit: 500, cursor }
      const page = await owner.invoke('devices_QueryPropertyHistory', body)
      seen.push(...page.changes.map(change => change.value as string))
      sizes.push(page.changes.length)
      cursor = page.nextCursor
      if (cursor === undefined) break
    }
    expect(sizes).toEqual([4, 4, 1])
    expect(seen.map(one => one.length === value(0).length && Number(one[0]))).toEqual([
      8, 7, 6, 5, 4, 3, 2, 1, 0,
    ])
  })
})

describe('property history under concurrent changes', () => {
  async function historyOf(name: string) {
    const { changes } = await owner.invoke('devices_QueryPropertyHistory', { deviceId, name })
    return changes.map(({ version, value, isRemoved }) => [version, isRemoved ? 'removed' : value])
  }

  async function propertyNow(name: string) {
    const property = await owner.invoke('devices_GetProperty', { deviceId, name })
    if (property.result !== 'Found') throw new Error(`${name} is ${property.result}`)
    return property
  }

  const byDevice = (input: object) => device.invoke('devices_SetProperty', { deviceId, ...input })
  const byOwner = (input: { name: string; value: string; protected?: true }) =>
    owner.invoke('devices_SetProperty', { deviceId, ...input })

  /**
   * Starts a person's command and blocks it before its commit. Then starts `other`, which waits for a row lock that the command
   * holds. Lets both finish and resolves to the result of `other`.
   */
  async function meanwhile<T>(command: () => Promise<unknown>, other: () => Promise<T>): Promise<T> {
    await using session = await databaseSession(hub)
    await session.lock('audit_event')
    const first = command()
    first.catch(() => {})
    await session.waitingStatements(1)
    const second = other()
    second.catch(() => {})
    await session.waitingStatements(2)
    await session.release()
    await first
    return second
  }

  it('records the value that a device sets again after a person changed it', async () => {
    const name = 'set.again'
    await byDevice({ name, value: 'A' })
    await meanwhile(
      () => byOwner({ name, value: 'B' }),
      () => byDevice({ name, value: 'A' }),
    )
    expect(await propertyNow(name)).toMatchObject({ value: 'A', version: 3 })
    expect(await historyOf(name)).toEqual([
      [3, 'A'],
      [2, 'B'],
      [1, 'A'],
    ])
  })

  it('records no change when a device sets the value that a person has just set', async () => {
    const name = 'set.alike'
    await byDevice({ name, value: 'A' })
    await meanwhile(
      () => byOwner({ name, value: 'B' }),
      () => byDevice({ name, value: 'B' }),
    )
    expect(await propertyNow(name)).toMatchObject({ value: 'B', version: 3 })
    expect(await historyOf(name)).toEqual([
      [2, 'B'],
      [1, 'A'],
    ])
  })

  it.each([
    ['device', byDevice],
    ['person', byOwner],
  ])('records the value that a %s sets again after a removal', async (who, set) => {
    const name = `removed.${who}`
    await byDevice({ name, value: 'A' })
    await meanwhile(
      () => owner.invoke('devices_RemoveProperty', { deviceId, name }),
      () => set({ name, value: 'A' }),
    )
    expect(await propertyNow(name)).toMatchObject({ value: 'A', version: 3 })
    expect(await historyOf(name)).toEqual([
      [3, 'A'],
      [2, 'removed'],
      [1, 'A'],
    ])
  })

  it.each([
    ['device', byDevice],
    ['person', byOwner],
  ])('records one change if a person and a %s create equal values, two otherwise', async (who, set) => {
    const alike = `alike.${who}`
    await meanwhile(
      () => byOwner({ name: alike, value: 'A' }),
      () => set({ name: alike, value: 'A' }),
    )
    expect(await propertyNow(alike)).toMatchObject({ value: 'A', version: 2 })
    expect(await historyOf(alike)).toEqual([[1, 'A']])
    const other = `different.${who}`
    await meanwhile(
      () => byOwner({ name: other, value: 'A' }),
      () => set({ name: other, value: 'B' }),
    )
    expect(await propertyNow(other)).toMatchObject({ value: 'B', version: 2 })
    expect(await historyOf(other)).toEqual([
      [2, 'B'],
      [1, 'A'],
    ])
  })

  it('records nothing of a device that writes after a person protected the property', async () => {
    const name = 'guarded'
    const refused = meanwhile(
      () => byOwner({ name, value: 'A', protected: true }),
      () => byDevice({ name, value: 'B' }),
    )
    await expect(refused).rejects.toMatchObject({ kind: 'Forbidden' })
    expect(await propertyNow(name)).toMatchObject({ value: 'A', version: 1 })
    expect(await historyOf(name)).toEqual([[1, 'A']])
  })

  it('is sorted by version when the last change began first', async () => {
    const name = 'waits'
    await byDevice({ name, value: 'A' })
    await using session = await databaseSession(hub)
    await session.query('begin')
    // The `key share` lock blocks the person's write, which locks the row with `for update`. The lock does not block the device's
    // write, which takes the weaker `for no key update`.
    await session.query('select from device_property where name = $1 for key share', [name])
    const later = byOwner({ name, value: 'C' })
    await session.waitingStatements(1)
    await byDevice({ name, value: 'B' })
    const before = await propertyNow(name)
    await session.release()
    await later
    const { value, version, lastUpdated } = await propertyNow(name)
    expect([value, version]).toEqual(['C', 3])
    expect(Date.parse(lastUpdated)).toBeGreaterThanOrEqual(Date.parse(before.lastUpdated))
    expect(await historyOf(name)).toEqual([
      [3, 'C'],
      [2, 'B'],
      [1, 'A'],
    ])
  })

  it('is sorted by version when a batch of device writes began first', async () => {
    const setBoth = (text: string) =>
      Promise.all(['batch.2', 'batch.1'].map(name => hub.services.ingest.setProperty(asDevice, name, text)))
    await setBoth('"A"')
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query(`select from device_property where name = 'batch.1' for update`)
    const batch = setBoth('"C"')
    await session.waitingStatements(1)
    await byOwner({ name: 'batch.2', value: 'B' })
    const before = await propertyNow('batch.2')
    await session.release()
    await batch
    const { value, version, lastUpdated } = await propertyNow('batch.2')
    expect([value, version]).toEqual(['C', 3])
    expect(Date.parse(lastUpdated)).toBeGreaterThanOrEqual(Date.parse(before.lastUpdated))
    expect(await historyOf('batch.2')).toEqual([
      [3, 'C'],
      [2, 'B'],
      [1, 'A'],
    ])
  })
})

describe('devices_GetProblemRun', () => {
  const run = (of: 'health' | 'update', id: string) =>
    owner.invoke('devices_GetProblemRun', { deviceId: id, of })
  const HEALTH = 'dev.nexigon.system.health'
  const STATUS = 'dev.nexigon.ota.status'
  const NEWEST_MS = Math.floor(Date.now() / 1000) * 1000 - 60_000
  /** Time of a past value, which is stored at its index before the newest, in minutes. */
  const at = (index: number) => new Date(NEWEST_MS - index * 60_000).toISOString()

  /** A device with past values of a property, newest first. A missing value is a removal. */
  async function deviceWith(name: string, values: (object | string | undefined)[]): Promise<string> {
    const { project_id } = await hub.db
      .selectFrom('device')
      .where('device_id', '=', deviceId)
      .select('project_id')
      .executeTakeFirstOrThrow()
    const id = await deviceRow(hub, project_id)
    const texts = values.map(value =>
      value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value),
    )
    await hub.pool.query(
      `insert into device_property_change (device_id, name, version, value, actor, changed_at)
       select $1, $2, 100000 - i, v::json, '{"actor":"System"}', $4::timestamptz - (i - 1) * interval '1 min'
         from unnest($3::text[]) with ordinality as t (v, i)`,
      [id, name, texts, at(0)],
    )
    return id
  }

  const failed = { state: 'failed', targetVersion: '2' }
  const installing = { state: 'installing', targetVersion: '2' }
  it.each<[string, string, (object | string | undefined)[], number | undefined]>([
    [
      'at the first failure, not at the start of its attempt',
      STATUS,
      [failed, installing, failed, installing, { state: 'completed' }],
      2,
    ],
    ['after another version', STATUS, [failed, { ...failed, targetVersion: '1' }], 0],
    ['after a removal', STATUS, [failed, undefined, failed], 0],
    [
      'with the first retry that counts failures',
      STATUS,
      [{ ...installing, failureCount: 1 }, installing],
      0,
    ],
    [
      'after a value that is too large',
      STATUS,
      [failed, { ...failed, lastError: 'x'.repeat(20_000) }, failed],
      0,
    ],
    ['with the oldest value', STATUS, [failed, failed, failed], 2],
    [
      'before 2,500 attempts',
      STATUS,
      [...new Array(5000).fill([failed, installing]).flat().slice(0, 5000), { state: 'completed' }],
      4998,
    ],
    [
      'with the first report of the same health',
      HEALTH,
      [{ status: 'error' }, { status: 'error', n: 1 }, { status: 'degraded' }],
      1,
    ],
    [
      'with a text that jsonb cannot hold',
      HEALTH,
      ['{"status":"a\\u0000"}', '{"status":"a\\u0000"}', '{"status":"b"}'],
      1,
    ],
    ['nowhere without values', HEALTH, [], undefined],
    ['nowhere after a value that is no report', HEALTH, [[1]], undefined],
  ])('begins %s', async (_what, name, values, first) => {
    const id = await deviceWith(name, values)
    const found = await run(name === HEALTH ? 'health' : 'update', id)
    expect(found.firstAt).toBe(first === undefined ? undefined : at(first))
    if (first !== undefined) expect(found.lastAt).toBe(at(0))
  })

  it('has no beginning if it began before the 10,000 values that are read', async () => {
    const id = await deviceWith(STATUS, new Array(10_001).fill(failed))
    expect(await run('update', id)).toEqual({ lastAt: at(0) })
  })

  it('has no times if they were not read within 2 s', async () => {
    const id = await deviceWith(STATUS, [failed])
    await using session = await databaseSession(hub)
    await session.lock('device_property_change')
    const found = await run('update', id)
    await session.release()
    expect(found).toEqual({})
  })
})
