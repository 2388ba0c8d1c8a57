import { newId } from '@muster/actions'
import {
  connectDevice,
  databaseSession,
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
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const OTA_STATUS = 'dev.nexigon.ota.status'
const FULL = {
  config: { path: 'firmware/system/stable', other: 1 },
  currentVersion: '2.22.4',
  targetVersion: '2.23.0',
  state: 'failed',
  failureCount: 6,
  lastError: 'write at 0x7fff12 of 8192 bytes: no space left on device',
}
/** Path with the longest name of a repository, of a package and of a tag. */
const LONGEST_PATH = `${'😀'.repeat(128)}/${'p'.repeat(128)}/${'t'.repeat(128)}`
const FULL_ROW = {
  path: 'firmware/system/stable',
  current_version: '2.22.4',
  target_version: '2.23.0',
  state: 'failed',
  failure_count: 6,
  error: 'write at # of # bytes: no space left on device',
}
const EMPTY_ROW = {
  path: null,
  current_version: null,
  target_version: null,
  state: null,
  failure_count: null,
  error: null,
}

let hub: TestHub
let owner: TestUser
let projectId: string
let device: FakeDevice
let deviceId: string

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  ;({ owner, projectId } = fleet)
  device = await connectDevice({ url: hub.url, token: fleet.token })
  deviceId = device.deviceId
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})
beforeEach(() => remove('owner'))

type Writer = 'device' | 'device over the pipeline' | 'device with a version' | 'owner'

/** Sets the update status as the writer `by`. The hub handles the writes of each kind of writers by different code. */
async function set(value: unknown, by: Writer = 'owner', name = OTA_STATUS): Promise<void> {
  const input = { deviceId, name, value }
  if (by === 'owner') await owner.invoke('devices_SetProperty', input)
  else if (by === 'device') await device.invoke('devices_SetProperty', input)
  else if (by === 'device over the pipeline') await overPipeline(device).invoke('devices_SetProperty', input)
  else {
    const before = await owner.invoke('devices_GetProperty', { deviceId, name })
    if (before.result === 'NotFound') return set(value, 'device', name)
    const expectedVersion = before.version
    expect(await device.invoke('devices_SetProperty', { ...input, expectedVersion })).toEqual({
      result: 'Set',
    })
  }
}

async function remove(by: 'device' | 'owner'): Promise<void> {
  const input = { deviceId, name: OTA_STATUS }
  await (by === 'owner'
    ? owner.invoke('devices_RemoveProperty', input)
    : device.invoke('devices_RemoveProperty', input))
}

async function rowOf(id = deviceId) {
  const row = await hub.db
    .selectFrom('device_update')
    .where('device_id', '=', id)
    .selectAll()
    .executeTakeFirst()
  if (!row) return undefined
  const { device_id: _device, property_version: _version, ...columns } = row
  return columns
}

/** Asserts that the row of `device_update` has the same version as the property from which it was written. */
async function expectSameVersion(): Promise<void> {
  const { rows } = await hub.pool.query(
    `select p.version = u.property_version as is_same from device_property p join device_update u using (device_id)
      where device_id = $1 and name = $2`,
    [deviceId, OTA_STATUS],
  )
  expect(rows).toEqual([{ is_same: true }])
}

describe.each(['device', 'device over the pipeline', 'device with a version', 'owner'] as const)(
  'an update status set by the %s',
  by => {
    it('is copied to the row of its device, and each later value replaces it', async () => {
      await set(FULL, by)
      expect(await rowOf()).toEqual(FULL_ROW)
      await set({ currentVersion: '2.23.0', state: 'completed', lastError: null }, by)
      expect(await rowOf()).toEqual({ ...EMPTY_ROW, current_version: '2.23.0', state: 'completed' })
      await expectSameVersion()
      await set('odd', by)
      expect(await rowOf()).toEqual(EMPTY_ROW)
    })

    it.each<[string, unknown, object]>([
      ['null', null, {}],
      ['a list', [1, 'failed'], {}],
      ['a number', 4, {}],
      ['empty texts', { currentVersion: '', state: '', lastError: '' }, {}],
      [
        'wrong types',
        {
          config: 'x',
          currentVersion: 2,
          targetVersion: {},
          state: ['failed'],
          failureCount: '6',
          lastError: 1,
        },
        {},
      ],
      ['a config that is null', { config: null }, {}],
      ['a negative count', { failureCount: -1 }, {}],
      ['half a failure', { failureCount: 1.5 }, {}],
      ['a count beyond 32 bits', { failureCount: 2 ** 32 }, {}],
      ['the largest count', { failureCount: 2 ** 32 - 1 }, { failure_count: 2 ** 32 - 1 }],
      ['an unknown state', { state: 'réglage en cours' }, { state: 'réglage en cours' }],
      ['a long state', { state: 'x'.repeat(300) }, { state: 'x'.repeat(64) }],
      ['a long version', { currentVersion: '9'.repeat(100_000) }, { current_version: '9'.repeat(200) }],
      ['the longest path', { config: { path: LONGEST_PATH } }, { path: LONGEST_PATH }],
      ['a longer path', { config: { path: `${LONGEST_PATH}x` } }, { path: LONGEST_PATH }],
      ['a NUL', { state: 'a\0b', lastError: 'c\0d' }, { state: 'ab', error: 'cd' }],
      [
        'half a pair',
        { state: 'a\ud800b', targetVersion: `${'y'.repeat(199)}😀` },
        { state: 'a\ufffdb', target_version: 'y'.repeat(199) },
      ],
    ])('with %s gives the row what can be read', async (_what, value, row) => {
      await set(value, by)
      expect(await rowOf()).toEqual({ ...EMPTY_ROW, ...row })
    })

    it('leaves no row when it is removed, by a person or by the device', async () => {
      for (const remover of ['owner', 'device'] as const) {
        await set(FULL, by)
        await remove(remover)
        expect(await rowOf()).toBeUndefined()
      }
      await set(FULL, by)
      expect(await rowOf()).toEqual(FULL_ROW)
      await expectSameVersion()
    })
  },
)

it.each([
  ['timeout after 30 s (try 4 of 10)', 'timeout after # s (try # of #)'],
  ['hash 9F86D081884C7D65 does not match', 'hash # does not match'],
  ['slot 550e8400-e29b-41d4-abcd-446655440000 is busy', 'slot # is busy'],
  ['cafebabe: bad face of a bed', '#: bad face of a bed'],
  ['curl: (28) 10.0.0.7:443', 'curl: (#) #.#.#.#:#'],
  [`${'7'.repeat(2000)} lost`, '#'],
  ['x'.repeat(1_000_000), 'x'.repeat(200)],
])('groups the error %.60s', async (lastError, error) => {
  await set({ lastError }, 'device')
  expect(await rowOf()).toMatchObject({ error })
})

it('writes no row for other properties, and writes both in one batch', async () => {
  await set(FULL, 'device', 'dev.nexigon.ota.config')
  await set(FULL, 'owner', 'dev.nexigon.ota.config')
  expect(await rowOf()).toBeUndefined()
  await using session = await databaseSession(hub)
  await session.lock('device_property')
  const first = set(0, 'device', 'a')
  await session.waitingStatements(1)
  const rest = [
    set(1, 'device', 'b'),
    set(FULL, 'device'),
    set(2, 'device', 'c'),
    set({ ...FULL, state: 'idle' }, 'device'),
  ]
  await session.release()
  await Promise.all([first, ...rest])
  expect(await rowOf()).toEqual({ ...FULL_ROW, state: 'idle' })
  await expectSameVersion()
})

it('keeps no row of a protected status that a device tried to replace', async () => {
  await owner.invoke('devices_SetProperty', { deviceId, name: OTA_STATUS, value: FULL, protected: true })
  expect(await failed(set({ state: 'idle' }, 'device'))).toMatchObject({ kind: 'Forbidden' })
  expect(await rowOf()).toEqual(FULL_ROW)
})

it('follows the property when writes and removals of many callers meet', async () => {
  const writers = Array.from({ length: 60 }, async (_, at) => {
    const value = { currentVersion: `v${at}` }
    if (at % 6 === 5) await remove(at % 4 === 1 ? 'owner' : 'device')
    else await set(value, at % 2 === 0 ? 'device' : 'owner')
  })
  await Promise.all(writers)
  const property = await owner.invoke('devices_GetProperty', { deviceId, name: OTA_STATUS })
  const expected =
    property.result === 'Found' ? (property.value as { currentVersion: string }).currentVersion : undefined
  expect((await rowOf())?.current_version).toBe(expected)
  if (expected !== undefined) await expectSameVersion()
})

it('notifies consoles that show the device list, but not of a repeated status', async () => {
  await using console = await liveStream(hub, owner)
  const notices = (): number =>
    console.changes.filter(change => change.topic === 'devices' && change.deviceId === deviceId).length
  await set(FULL, 'device')
  await until('the notice of the first status', () => notices() === 1)
  await set(FULL, 'device')
  await set({ ...FULL, lastError: 'write at 0x7fff99 of 4096 bytes: no space left on device' }, 'device')
  await set({ ...FULL, state: 'idle' }, 'device')
  await until('the notice of another state', () => notices() === 2)
  for (const by of ['owner', 'device with a version'] as const) {
    const before = notices()
    await set(FULL, by)
    await until('the notice of a command', () => notices() === before + 1)
  }
  await remove('owner')
  await until('the notice of the removal', () => notices() === 5)
})

it('is removed with its device', async () => {
  const id = await deviceRow(hub, projectId)
  await owner.invoke('devices_SetProperty', { deviceId: id, name: OTA_STATUS, value: FULL })
  expect(await rowOf(id)).toEqual(FULL_ROW)
  await owner.invoke('devices_Delete', { deviceId: id })
  expect(await rowOf(id)).toBeUndefined()
})

describe('the job that fills the rows after an upgrade', () => {
  const fill = () => hub.runJob('devices_FillUpdates', {})

  /**
   * Adds devices with an update status but without a row in `device_update`, as versions of the hub without this table stored them.
   * Returns their sorted ids: the job that fills the table processes devices in the order of their ids, 50 per statement.
   */
  async function addOldDevices(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId('d')).toSorted()
    await hub.pool.query(
      `with added as (
         insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
         select id, $2, 'd_pk_' || id, convert_to(id, 'UTF8') from unnest($1::text[]) id
       )
       insert into device_property (device_id, name, value, value_json, version)
       select id, $3, $4::json, $4::jsonb, 7 from unnest($1::text[]) id`,
      [ids, projectId, OTA_STATUS, JSON.stringify(FULL)],
    )
    return ids
  }

  async function filledOf(ids: string[]): Promise<number> {
    const { rows } = await hub.pool.query('select from device_update where device_id = any ($1)', [ids])
    return rows.length
  }

  it('fills every device once, and changes nothing when it is repeated', async () => {
    const ids = await addOldDevices(120)
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await rowOf(ids[0])).toEqual(FULL_ROW)
    expect(await filledOf(ids)).toBe(120)
    const rows = async () =>
      (await hub.pool.query('select device_id, xmin::text from device_update order by device_id')).rows
    const before = await rows()
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await rows()).toEqual(before)
  })

  it('continues after its connection was lost, and waits for no more than its portion', async () => {
    const ids = await addOldDevices(120)
    const last = ids.at(-1)!
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from device_property where device_id = $1 for update', [last])
    await hub.pool.query("delete from instance_setting where key = 'devices.fillUpdates'")
    await hub.db.transaction().execute(tx => hub.jobs.enqueue(tx, 'devices_FillUpdates', {}))
    hub.jobs.wake('devices_FillUpdates')
    await session.waitingStatements(1)
    const partly = await filledOf(ids)
    expect(partly).toBeGreaterThanOrEqual(50)
    expect(partly).toBeLessThan(120)
    const admin = await hub.user({ isAdmin: true })
    const { jobs } = await admin.invoke('jobs_Query', {
      filter: { job: 'devices_FillUpdates', statuses: ['Pending'] },
      limit: 10,
    })
    const { done, total } = jobs[0]!.progress!
    expect(done).toBeGreaterThanOrEqual(50)
    expect(done).toBeLessThan(total)
    const killed = await session.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    )
    expect(killed).toHaveLength(1)
    await session.release()
    // The job is repeated 30 s after its statement was ended, which would be in the midst of a later test.
    await until('the job waits for its next attempt', async () => {
      const { rowCount } = await hub.pool.query(
        `delete from pgboss.job where name = 'devices_FillUpdates' and state = 'retry'`,
      )
      return rowCount === 1
    })
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await filledOf(ids)).toBe(120)
  })

  it('leaves a newer row and a removed property alone that change while it waits', async () => {
    const [changed, removed, other] = (await addOldDevices(3)) as [string, string, string]
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from device_property where device_id = any ($1) for update', [
      [changed, removed],
    ])
    const attempt = fill()
    await session.waitingStatements(1)
    await session.query('delete from device_property where device_id = $1', [removed])
    await session.query(
      `update device_property set value = '{"state":"idle"}', version = 8 where device_id = $1`,
      [changed],
    )
    await session.query(
      `insert into device_update (device_id, property_version, state) values ($1, 8, 'idle')`,
      [changed],
    )
    await session.query('commit')
    expect(await attempt).toMatchObject({ status: 'Completed' })
    expect(await rowOf(changed)).toEqual({ ...EMPTY_ROW, state: 'idle' })
    expect(await rowOf(removed)).toBeUndefined()
    expect(await rowOf(other)).toEqual(FULL_ROW)
  })

  it('reads only the next 5,000 devices a run once every device was filled', async () => {
    expect(await fill()).toMatchObject({ status: 'Completed' })
    // The next run of the job reads only these 5,000 devices, because their ids sort before the ids of all other devices.
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select id, $1, 'd_pk_' || id, convert_to(id, 'UTF8') from (
         select 'd_1' || lpad(n::text, 21, '0') as id from generate_series(1, 5000) n) ids`,
      [projectId],
    )
    const [last] = (await addOldDevices(1)) as [string]
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await filledOf([last])).toBe(0)
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await filledOf([last])).toBe(1)
    await hub.pool.query(`delete from device where fingerprint_id like 'd_pk_d_10%'`)
  })

  it('reads values that jsonb cannot hold', async () => {
    const [id] = (await addOldDevices(1)) as [string]
    await hub.pool.query(
      `update device_property set value = '{"state":"a\\u0000b","x":1e999999,"lastError":"\\ud800 5"}', value_json = null
        where device_id = $1`,
      [id],
    )
    expect(await fill()).toMatchObject({ status: 'Completed' })
    expect(await rowOf(id)).toEqual({ ...EMPTY_ROW, state: 'ab', error: '\ufffd #' })
  })
})
