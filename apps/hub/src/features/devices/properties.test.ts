import { MAX_PROPERTY_VALUE_BYTES } from '@muster/actions'
import {
  ask,
  auditEvents,
  auditRows,
  clearAudit,
  connectDevice,
  deviceRow,
  type FakeDevice,
  failed,
  liveStream,
  overPipeline,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { loadConfig } from '../../platform/config/config.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'

let hub: TestHub
let owner: TestUser
let actor: object
let projectId: string
let organizationId: string
let device: FakeDevice
let deviceId: string
let asDevice: Caller

beforeAll(async () => {
  // These tests check total sizes. The default rate limit of 1 MiB per second would delay large values.
  hub = await testHub({ limits: { ...loadConfig({}).limits, 'device-bytes-per-second': 1024 ** 3 } })
  const fleet = await hub.fleet()
  ;({ owner, organizationId, projectId } = fleet)
  actor = { actor: 'User', userId: owner.userId }
  device = await connectDevice({ url: hub.url, token: fleet.token })
  deviceId = device.deviceId
  asDevice = { actor: 'Device', deviceId, tokenId: fleet.tokenId, projectId, organizationId }
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await hub.db.deleteFrom('device_property').execute()
  await hub.db.deleteFrom('device_property_change').execute()
  await hub.db.updateTable('device').set({ property_version_floor: 0 }).execute()
  await clearAudit(hub)
})

/** Sets a property to exactly the JSON text `text`, as the owner or as the device. */
async function setText(text: string, name = 'a', by: 'owner' | 'device' = 'owner'): Promise<unknown> {
  const input = `{"deviceId":"${deviceId}","name":"${name}","value":${text}}`
  if (by === 'device')
    return JSON.parse(await hub.pipeline.invoke(asDevice, 'devices_SetProperty', input, 'test'))
  const answer = await ask(hub, '/api/v1/actions/invoke/devices_SetProperty', { as: owner, body: input })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json()
}

/** JSON text of a property's value in the HTTP answer. */
async function textOf(name = 'a'): Promise<string> {
  const body = { deviceId, name }
  const { text } = await ask(hub, '/api/v1/actions/invoke/devices_GetProperty', { as: owner, body })
  const [, value] =
    new RegExp(`^\\{"name":"${name}","value":([^]*),"protected":(?:true|false),"version":\\d+,`).exec(text) ??
    []
  if (value === undefined) throw new Error(`no value in ${text}`)
  return value
}

async function propertyNow(name = 'a') {
  return owner.invoke('devices_GetProperty', { deviceId, name })
}

function historyOf(name = 'a') {
  return hub.db
    .selectFrom('device_property_change')
    .where('device_id', '=', deviceId)
    .where('name', '=', name)
    .select(['version', 'value', 'actor'])
    .orderBy('changed_at')
    .execute()
}

const TEXTS = [
  '1.0',
  '1.10',
  '-0',
  '-0.0',
  '1e2',
  '1E+2',
  '1e-7',
  '12345678901234567890',
  '0.1234567890123456789012345678901234567890',
  '1e999',
  '-1e999',
  '1e99999',
  '1e-99999',
  '1e-20000',
  `1${'0'.repeat(2_000)}`,
  `0.${'0'.repeat(20_000)}1`,
  'null',
  'true',
  'false',
  '""',
  '"1.0"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ud83d\\ude00"',
  '"\u2028\u2029"',
  '"\\u0041\\/\\b"',
  '"<script>"',
  '"é漢😀"',
  '{}',
  '[]',
  '{"b":1,"a":2}',
  '{"a":1,"a":2}',
  '{"a":{"b":null},"c":[null]}',
  '{"":1,"__proto__":2,"constructor":3}',
  '{ "a" :\t[ 1 ,\n 2 ] }',
  '[1.0, {"x": 1.50}, "\\u0000"]',
  '{"value":1,"deviceId":"x","name":"y"}',
  '"\\"value\\":1"',
  '"}]{[,:"',
  '{"a\\u0000b":1}',
]

describe('property value', () => {
  it.each(['owner', 'device'] as const)('set by the %s is returned byte for byte', async by => {
    for (const text of TEXTS) {
      expect(await setText(text, 'a', by), text.slice(0, 40)).toEqual({ result: 'Set' })
      expect(await textOf(), text.slice(0, 40)).toBe(text)
    }
  })

  it('is returned unchanged for random values and white space', async () => {
    const spacing = fc.constantFrom(undefined, 1, '\t', ' \n')
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 }),
        spacing,
        async (value, indent) => {
          const text = JSON.stringify(value, null, indent)
          await setText(text, 'a', 'device')
          expect(await textOf()).toBe(text)
        },
      ),
      { seed: inject('fuzzSeed'), numRuns: 60 },
    )
  })

  it('is the same when the device reads it over its link', async () => {
    const value = { order: ['b', 'a'], nothing: null, text: '\u0000' }
    await device.invoke('devices_SetProperty', { deviceId, name: 'a', value })
    expect(await device.invoke('devices_GetProperty', { deviceId, name: 'a' })).toMatchObject({
      result: 'Found',
      value,
    })
    const { properties } = (await device.invoke('devices_QueryProperties', { deviceId })) as {
      properties: object
    }
    expect(properties).toMatchObject({ a: { name: 'a', value } })
  })

  it('is the last of duplicate members, as with `JSON.parse`', async () => {
    const body = `{"deviceId":"${deviceId}","value":1,"name":"a","\\u0076alue":2.50 ,"nested":{"value":3}}`
    await ask(hub, '/api/v1/actions/invoke/devices_SetProperty', { as: owner, body })
    expect(await textOf()).toBe('2.50')
  })

  it.each(['owner', 'device'] as const)(
    'is limited to 1 MiB of JSON text when it is set by the %s',
    async by => {
      const text = `"${'x'.repeat(MAX_PROPERTY_VALUE_BYTES - 2)}"`
      await setText(text, 'a', by)
      expect(await textOf()).toBe(text)
      const error = await setText(`${text.slice(0, -1)}x"`, 'a', by).catch((error: Error) => error.message)
      expect(error).toContain(`at most ${MAX_PROPERTY_VALUE_BYTES} are stored`)
      // The limit counts bytes, not characters.
      const wide = `"${'漢'.repeat(MAX_PROPERTY_VALUE_BYTES / 3)}"`
      expect(await setText(wide, 'a', by).catch((error: Error) => error.message)).toContain('are stored')
      expect(await textOf()).toBe(text)
    },
  )

  it('has at most 63 levels of nesting, because the input object adds one', async () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    await setText(nested(63))
    expect(await textOf()).toBe(nested(63))
    await expect(setText(nested(64))).rejects.toThrow('nested deeper than 64 levels')
  })

  it('is required, and may be null', async () => {
    expect(await failed(owner.invoke('devices_SetProperty', { deviceId, name: 'a' } as never))).toMatchObject(
      {
        kind: 'Invalid',
        issues: [{ path: 'value', message: 'required' }],
      },
    )
    await setText('null')
    expect(await propertyNow()).toMatchObject({ result: 'Found', value: null })
  })
})

describe('devices_SetProperty by a person', () => {
  it('creates and replaces a property with a new version each time, and is audited', async () => {
    await using console = await liveStream(hub, owner)
    await setText('1')
    expect(await propertyNow()).toEqual({
      result: 'Found',
      name: 'a',
      value: 1,
      protected: false,
      version: 1,
      lastUpdated: expect.any(String),
    })
    await setText('2')
    expect(await propertyNow()).toMatchObject({ value: 2, version: 2 })
    expect((await historyOf()).map(change => [change.version, change.value?.text, change.actor])).toEqual([
      [1, '1', actor],
      [2, '2', actor],
    ])
    const row = { action: 'devices_SetProperty', actor, data: { deviceId, name: 'a' }, status: 'Succeeded' }
    expect(await auditRows(hub)).toEqual([row, row])
    expect((await auditEvents(hub))[1]).toMatchObject({
      event: 'devices_PropertySet',
      data: { projectId, deviceId, propertyName: 'a' },
      projectId,
      deviceId,
    })
    await until('the live notice', () =>
      console.changes.some(change => change.topic === 'properties' && change.deviceId === deviceId),
    )
  })

  it('increments the version but adds no history when the value stays the same', async () => {
    await setText('{"a":1}')
    await setText('{"a":1}')
    await setText('{"a": 1}')
    expect(await propertyNow()).toMatchObject({ version: 3 })
    expect((await historyOf()).map(change => change.value?.text)).toEqual(['{"a":1}', '{"a": 1}'])
  })

  it('audits the name but never the value', async () => {
    await setText('"hunter2"')
    expect(JSON.stringify([await auditRows(hub), await auditEvents(hub)])).not.toContain('hunter2')
  })

  it('keeps the protection when `protected` is absent or null', async () => {
    const set = (more: object) =>
      owner.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1, ...more })
    const isProtected = async () => {
      const property = await propertyNow()
      return property.result === 'Found' && property.protected
    }
    await set({})
    expect(await isProtected()).toBe(false)
    await set({ protected: true })
    expect(await isProtected()).toBe(true)
    await set({ protected: null })
    expect(await isProtected()).toBe(true)
    await set({ protected: false })
    expect(await isProtected()).toBe(false)
  })

  it.each([1, '1'])('replaces only the expected version: %j', async expectedVersion => {
    const set = (value: number, expected: number | string) =>
      owner.invoke('devices_SetProperty', { deviceId, name: 'a', value, expectedVersion: expected })
    expect(await set(1, expectedVersion)).toEqual({ result: 'Deleted' })
    expect(await propertyNow()).toEqual({ result: 'NotFound' })
    await setText('1')
    await hub.db.deleteFrom('audit_event').execute()
    expect(await set(2, expectedVersion)).toEqual({ result: 'Set' })
    expect(await set(3, expectedVersion)).toEqual({ result: 'VersionConflict', currentVersion: 2 })
    expect(await set(3, '18446744073709551615')).toEqual({ result: 'VersionConflict', currentVersion: 2 })
    expect(await set(3, 0)).toEqual({ result: 'VersionConflict', currentVersion: 2 })
    expect(await propertyNow()).toMatchObject({ value: 2, version: 2 })
    // Refused writes have an audit row but no audit event.
    expect(await auditEvents(hub)).toHaveLength(1)
    expect(await auditRows(hub)).toHaveLength(6)
  })

  it('succeeds once when concurrent writes expect the same version', async () => {
    await setText('0')
    const outcomes = await Promise.all(
      [1, 2, 3, 4, 5].map(value =>
        owner.invoke('devices_SetProperty', { deviceId, name: 'a', value, expectedVersion: 1 }),
      ),
    )
    expect(outcomes.filter(outcome => outcome.result === 'Set')).toHaveLength(1)
    expect(outcomes.filter(outcome => outcome.result === 'VersionConflict')).toHaveLength(4)
    expect(await propertyNow()).toMatchObject({ version: 2 })
  })

  it.each(['owner', 'device'] as const)(
    'continues versions after a removal, so that an old expected version conflicts: by the %s',
    async by => {
      const swap = (expectedVersion: number, name = 'a') =>
        owner.invoke('devices_SetProperty', { deviceId, name, value: 'swapped', expectedVersion })
      await setText('"first"')
      await owner.invoke('devices_RemoveProperty', { deviceId, name: 'a' })
      expect(await swap(1)).toEqual({ result: 'Deleted' })
      await setText('"second"', 'a', by)
      expect(await swap(1)).toEqual({ result: 'VersionConflict', currentVersion: 3 })
      expect(await propertyNow()).toMatchObject({ value: 'second', version: 3 })
      expect((await historyOf()).map(change => change.version)).toEqual([1, 2, 3])
      expect(await swap(3)).toEqual({ result: 'Set' })
      // The deletion of a property raises `property_version_floor` of its device. New properties of any name begin above that
      // version.
      await setText('1', 'other', by)
      expect(await propertyNow('other')).toMatchObject({ version: 3 })
      await owner.invoke('devices_RemoveProperty', { deviceId, name: 'other' })
      await owner.invoke('devices_RemoveProperty', { deviceId, name: 'a' })
      await setText('2', 'other', by)
      expect(await propertyNow('other')).toMatchObject({ version: 6 })
    },
  )

  it('increments the version at each of many concurrent creations', async () => {
    await Promise.all(Array.from({ length: 8 }, (_, value) => setText(String(value), 'b')))
    expect(await propertyNow('b')).toMatchObject({ version: 8 })
    const versions = (await historyOf('b')).map(change => change.version)
    expect(versions.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })
})

describe('devices_SetProperty by the device', () => {
  it('is telemetry: stored with history and notified, but not audited', async () => {
    await using console = await liveStream(hub, owner)
    expect(await device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })).toEqual({
      result: 'Set',
    })
    await device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 2 })
    expect(await propertyNow()).toMatchObject({ value: 2, version: 2 })
    expect((await historyOf()).map(change => change.actor)).toMatchObject([
      { actor: 'Device', deviceId },
      { actor: 'Device', deviceId },
    ])
    expect(await auditRows(hub)).toEqual([])
    expect(await auditEvents(hub)).toEqual([])
    await until('the live notice', () =>
      console.changes.some(change => change.topic === 'properties' && change.deviceId === deviceId),
    )
  })

  it('notifies consoles of a write with an expected version', async () => {
    await device.invoke('devices_SetProperty', {
      deviceId,
      name: 'dev.nexigon.system.health',
      value: { status: 'error' },
    })
    await using console = await liveStream(hub, owner)
    const set = (expectedVersion: number) =>
      device.invoke('devices_SetProperty', {
        deviceId,
        name: 'dev.nexigon.system.health',
        value: { status: 'degraded' },
        expectedVersion,
      })
    expect(await set(7)).toEqual({ result: 'VersionConflict', currentVersion: 1 })
    expect(await set(1)).toEqual({ result: 'Set' })
    await until('the notice of properties and devices', () => {
      const topics = console.changes.map(change => change.topic)
      return topics.includes('properties') && topics.includes('devices')
    })
    expect(await auditRows(hub)).toEqual([])
  })

  it('cannot change or remove a protected property, nor set the protection', async () => {
    await owner.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1, protected: true })
    const forbidden = { kind: 'Forbidden', message: 'The property "a" is protected.' }
    const input = { deviceId, name: 'a', value: 2 }
    await expect(device.invoke('devices_SetProperty', input)).rejects.toMatchObject(forbidden)
    await expect(
      device.invoke('devices_SetProperty', { ...input, expectedVersion: 1 }),
    ).rejects.toMatchObject(forbidden)
    await expect(device.invoke('devices_RemoveProperty', { deviceId, name: 'a' })).rejects.toMatchObject(
      forbidden,
    )
    for (const flag of [true, false]) {
      const refused = device.invoke('devices_SetProperty', { deviceId, name: 'b', value: 1, protected: flag })
      await expect(refused).rejects.toMatchObject({ kind: 'Forbidden' })
    }
    expect(await propertyNow()).toMatchObject({ value: 1, version: 1, protected: true })
    expect(await propertyNow('b')).toEqual({ result: 'NotFound' })
    expect(await device.invoke('devices_GetProperty', { deviceId, name: 'a' })).toMatchObject({ value: 1 })
  })
})

describe('devices_RemoveProperty', () => {
  it('removes a property, is audited, and answers `NotFound` when there is none', async () => {
    await setText('1')
    await clearAudit(hub)
    await using console = await liveStream(hub, owner)
    expect(await owner.invoke('devices_RemoveProperty', { deviceId, name: 'a' })).toEqual({
      result: 'Removed',
    })
    expect(await owner.invoke('devices_RemoveProperty', { deviceId, name: 'a' })).toEqual({
      result: 'NotFound',
    })
    expect(await propertyNow()).toEqual({ result: 'NotFound' })
    expect((await historyOf()).map(change => [change.version, change.value])).toMatchObject([
      [1, { text: '1' }],
      [2, null],
    ])
    const row = {
      action: 'devices_RemoveProperty',
      actor,
      data: { deviceId, name: 'a' },
      status: 'Succeeded',
    }
    expect(await auditRows(hub)).toEqual([row, row])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'devices_PropertyRemoved',
        data: { projectId, deviceId, propertyName: 'a' },
        projectId,
        deviceId,
      },
    ])
    await until('the live notice', () => console.changes.some(change => change.topic === 'properties'))
  })

  it('is telemetry when the device calls it', async () => {
    await device.invoke('devices_SetProperty', { deviceId, name: 'a', value: 1 })
    await using console = await liveStream(hub, owner)
    expect(await device.invoke('devices_RemoveProperty', { deviceId, name: 'a' })).toEqual({
      result: 'Removed',
    })
    expect(await device.invoke('devices_RemoveProperty', { deviceId, name: 'a' })).toEqual({
      result: 'NotFound',
    })
    expect(await auditRows(hub)).toEqual([])
    await until('the live notice', () => console.changes.some(change => change.topic === 'properties'))
  })
})

describe('devices_QueryProperties', () => {
  it('returns all properties by name, including names such as `constructor`', async () => {
    const names = ['constructor', 'toString', 'valueOf', 'z', 'A', '9', 'a.b-c_d']
    for (const name of names) await setText(`"${name}"`, name)
    const { properties } = await owner.invoke('devices_QueryProperties', { deviceId })
    expect(Object.keys(properties).sort()).toEqual(names.toSorted())
    for (const name of names) expect(properties[name]).toMatchObject({ name, value: name, version: 1 })
    const other = await deviceRow(hub, projectId)
    expect(await owner.invoke('devices_QueryProperties', { deviceId: other })).toEqual({ properties: {} })
  })

  it.each(['lane', 'pipeline'])(
    'S7: fits into one answer when a device has written all it may, over the %s',
    async way => {
      const { token } = await hub.token(owner, projectId)
      await using connected = await connectDevice({ url: hub.url, token })
      const large = way === 'lane' ? connected : overPipeline(connected)
      const { deviceId } = large
      const set = (name: string, value: string) =>
        large.invoke('devices_SetProperty', { deviceId, name, value })
      const value = 'x'.repeat(MAX_PROPERTY_VALUE_BYTES - 2)
      // The writes are concurrent, so the check of each write must count the other writes.
      const all = await Promise.allSettled(Array.from({ length: 9 }, (_, at) => set(`large.${at}`, value)))
      const refused = all.filter(result => result.status === 'rejected')
      expect(refused).toHaveLength(3)
      expect(refused[0]!.reason).toMatchObject({
        kind: 'Invalid',
        message: expect.stringMatching(
          /^Limit device-property-bytes: found \d+, expected at most 6881280 bytes\. Remove properties or write smaller values\.$/,
        ),
      })
      // The last eighth of the limit is for small values. A device that has used up the other seven eighths can therefore still
      // report its state.
      for (let at = 0; at < 200; at++) await set(`small.${at}`, 'x'.repeat(4000))
      await expect(
        Promise.all(Array.from({ length: 300 }, (_, at) => set(`more.${at}`, 'x'.repeat(4000)))),
      ).rejects.toMatchObject({ message: expect.stringContaining('Limit device-property-bytes') })
      expect(await set('dev.nexigon.ota.status', 'installing')).toEqual({ result: 'Set' })
      const { properties } = (await large.invoke('devices_QueryProperties', { deviceId })) as {
        properties: object
      }
      expect(Object.keys(properties).length).toBeGreaterThan(300)
      // The limit applies to writes of people as well.
      await expect(
        owner.invoke('devices_SetProperty', { deviceId, name: 'more', value: 'x'.repeat(5000) }),
      ).rejects.toMatchObject({ status: 409 })
      const { limitHits } = await owner.invoke('devices_GetDetails', { deviceId })
      expect(limitHits).toMatchObject([{ limit: 'device-property-bytes' }])
    },
  )

  it.each(['lane', 'pipeline'])(
    'S7: lets a device over its limits write smaller values but no new names, over the %s',
    async way => {
      const { token } = await hub.token(owner, projectId)
      await using connected = await connectDevice({ url: hub.url, token })
      const large = way === 'lane' ? connected : overPipeline(connected)
      const { deviceId } = large
      // Inserts 10,001 properties, one more than the limit. Early versions allowed that.
      await sql`insert into device_property (device_id, name, value)
      select ${deviceId}, n::text, to_json(repeat('x', 800)) from generate_series(1, 10001) n`.execute(hub.db)
      const set = (name: string, length: number) =>
        large.invoke('devices_SetProperty', { deviceId, name, value: 'x'.repeat(length) })
      await set('first', 16_000).catch(() => {})
      await expect(set('second', 16_000)).rejects.toMatchObject({
        message: expect.stringContaining('Limit device-properties: found 1000'),
      })
      await expect(large.invoke('devices_QueryProperties', { deviceId })).rejects.toMatchObject({
        kind: 'Invalid',
      })
      for (const name of ['1', '2', '3']) expect(await set(name, 700)).toEqual({ result: 'Set' })
      await expect(set('4', 16_000)).rejects.toMatchObject({
        message: expect.stringContaining('Limit device-property-bytes'),
      })
    },
  )

  it('S7: returns pages by name with cut values, even if the whole list exceeds an answer', async () => {
    const large = await deviceRow(hub, projectId)
    // Inserts properties of 12 MB in total, more than fit into an answer. Early versions allowed that.
    await sql`insert into device_property (device_id, name, value)
      select ${large}, 'p' || lpad(n::text, 4, '0'), to_json(repeat('x', case n % 10 when 0 then 100000 else 10 end))
        from generate_series(1, 1200) n`.execute(hub.db)
    const page = { deviceId: large, limit: 500, maxValueBytes: 4096 }
    const first = await owner.invoke('devices_QueryProperties', page)
    expect(first.total).toBe(1200)
    expect(Object.keys(first.properties)).toHaveLength(500)
    expect(first.properties.p0001).toMatchObject({ value: 'x'.repeat(10), valueBytes: 12 })
    expect(first.properties.p0001).not.toHaveProperty('isCut')
    expect(first.properties.p0010).toMatchObject({
      value: `"${'x'.repeat(4095)}`,
      valueBytes: 100_002,
      isCut: true,
    })
    const names = Object.keys(first.properties)
    for (let cursor = first.nextCursor; cursor !== undefined; ) {
      const next = await owner.invoke('devices_QueryProperties', { ...page, cursor })
      names.push(...Object.keys(next.properties))
      cursor = next.nextCursor
    }
    expect(names).toEqual(Array.from({ length: 1200 }, (_, at) => `p${String(at + 1).padStart(4, '0')}`))
    // Without `maxValueBytes`, large values end a page early.
    const whole = await owner.invoke('devices_QueryProperties', { deviceId: large, limit: 500 })
    expect(Object.keys(whole.properties).length).toBeLessThan(500)
    expect(whole.properties.p0010!.value).toHaveLength(100_000)
    await expect(owner.invoke('devices_QueryProperties', { deviceId: large })).rejects.toMatchObject({
      status: 413,
    })
    await expect(
      owner.invoke('devices_QueryProperties', { deviceId: large, cursor: 'junk' }),
    ).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('is open to administrators of the instance, and audited for them', async () => {
    await setText('1')
    await hub.db.deleteFrom('audit_action').execute()
    const admin = await hub.user({ isAdmin: true })
    expect((await admin.invoke('devices_QueryProperties', { deviceId })).properties).toHaveProperty('a')
    expect(await auditRows(hub)).toMatchObject([{ action: 'devices_QueryProperties', data: { deviceId } }])
    const change = admin.invoke('devices_SetProperty', { deviceId, name: 'a', value: 2 })
    expect(await failed(change)).toMatchObject({ kind: 'Forbidden' })
  })
})

describe('device status and host name from properties', () => {
  const HEALTH = 'dev.nexigon.system.health'
  const INFO = 'dev.nexigon.system.info'
  const OLDER_INFO = 'dev.nexigon.systemInfo'

  async function shown() {
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId, filter: { text: deviceId } })
    const { status, hostname } = devices[0]!
    return { status, hostname }
  }

  const setters = {
    owner: (name: string, value: unknown) =>
      owner.invoke('devices_SetProperty', { deviceId, name, value } as never),
    device: (name: string, value: unknown) => device.invoke('devices_SetProperty', { deviceId, name, value }),
  }

  it.each(['owner', 'device'] as const)(
    'appear in the device list when the %s sets the property',
    async by => {
      const set = setters[by]
      for (const [value, status] of [
        [{ status: 'error' }, 'error'],
        [{ status: 'degraded' }, 'warning'],
        [{ status: 'healthy' }, 'healthy'],
        [{ status: 'error' }, 'error'],
        [{}, 'healthy'],
        [{ status: 'error' }, 'error'],
        [{ status: null }, 'healthy'],
        [null, 'healthy'],
        ['error', 'healthy'],
        [{ status: '\u0000error' }, 'error'],
        [{ status: ['error'] }, 'healthy'],
      ] as const) {
        await set(HEALTH, value)
        expect((await shown()).status, JSON.stringify(value)).toBe(status)
      }
      for (const name of [INFO, OLDER_INFO]) {
        await set(name, { hostname: 'gate-1' })
        expect((await shown()).hostname).toBe('gate-1')
        await set(name, { hostname: null })
        expect((await shown()).hostname).toBeUndefined()
        await set(name, { hostname: `a\u0000${'x'.repeat(300)}` })
        expect((await shown()).hostname).toBe(`a${'x'.repeat(252)}`)
        await set(name, [1])
        expect((await shown()).hostname).toBeUndefined()
        await owner.invoke('devices_RemoveProperty', { deviceId, name })
      }
    },
  )

  it.each(['owner', 'device'] as const)(
    'come from the system information written last, under its old or new name, by the %s',
    async by => {
      const set = setters[by]
      const remove = (name: string) =>
        (by === 'owner' ? owner : device).invoke('devices_RemoveProperty', { deviceId, name })
      const hostname = async () => (await shown()).hostname
      await set(OLDER_INFO, { hostname: 'older' })
      expect(await hostname()).toBe('older')
      await set(INFO, { hostname: 'newer' })
      expect(await hostname()).toBe('newer')
      await set(OLDER_INFO, { hostname: 'late' })
      expect(await hostname()).toBe('late')
      await set(INFO, { hostname: 'newest' })
      expect(await hostname()).toBe('newest')
      await remove(OLDER_INFO)
      expect(await hostname()).toBe('newest')
      await set(OLDER_INFO, { hostname: 'late again' })
      await remove(INFO)
      expect(await hostname()).toBe('late again')
      await remove(OLDER_INFO)
      expect(await hostname()).toBeUndefined()
    },
  )

  it('are sent to open consoles, and cleared when the property is removed', async () => {
    await using console = await liveStream(hub, owner)
    const notifies = async (change: () => Promise<unknown>): Promise<void> => {
      console.changes.length = 0
      await change()
      await until('the notice of devices', () => console.changes.some(({ topic }) => topic === 'devices'))
    }
    await notifies(async () => {
      await setters.owner(HEALTH, { status: 'error' })
      await setters.owner(INFO, { hostname: 'gate-1' })
    })
    expect(await shown()).toEqual({ status: 'error', hostname: 'gate-1' })
    await notifies(async () => {
      await owner.invoke('devices_RemoveProperty', { deviceId, name: HEALTH })
      await owner.invoke('devices_RemoveProperty', { deviceId, name: INFO })
    })
    expect(await shown()).toEqual({ status: 'healthy', hostname: undefined })
    await notifies(() => setters.device(HEALTH, { status: 'error' }))
    await notifies(() => device.invoke('devices_RemoveProperty', { deviceId, name: HEALTH }))
    expect((await shown()).status).toBe('healthy')
  })

  it('come without history of the system information', async () => {
    await setters.device(INFO, { hostname: 'a' })
    await setters.owner(INFO, { hostname: 'b' })
    expect(await historyOf(INFO)).toEqual([])
    expect(await propertyNow(INFO)).toMatchObject({ version: 2 })
  })
})
