import { MAX_LABELS, readPredicate } from '@muster/predicates'
import {
  auditEvents,
  clearAudit,
  connectDevice,
  databaseSession,
  deviceRow,
  type FakeDevice,
  failed,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const LABELS = 'dev.muster.labels'

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
beforeEach(async () => {
  await hub.db.deleteFrom('device_property').execute()
  await hub.db.deleteFrom('device_property_change').execute()
  await clearAudit(hub)
})

function setLabels(set: Record<string, string>, remove: string[] = [], id = deviceId) {
  return owner.invoke('devices_SetLabels', { deviceId: id, set, remove })
}

/** Rows of `device_label` of a device, by key. */
async function rowsOf(id = deviceId): Promise<Record<string, string>> {
  const rows = await hub.db
    .selectFrom('device_label')
    .where('device_id', '=', id)
    .select(['key', 'value'])
    .execute()
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

/** Writes the property like a node of an older release for a device that reports it. */
function reportByOldNode(value: object, id = deviceId) {
  const text = JSON.stringify(value)
  return sql`
    insert into device_property (device_id, name, value, value_json, value_bytes, version)
    values (${id}, ${LABELS}, ${text}::text::json, ${text}::text::jsonb, ${text.length}, 1)
    on conflict (device_id, name) do update set value = excluded.value`.execute(hub.db)
}

/** Stores the property as an older release did, before the triggers. */
async function reportedBefore(value: object, id = deviceId): Promise<void> {
  await using session = await databaseSession(hub)
  await session.query('set session_replication_role = replica')
  await session.query(
    `insert into device_property (device_id, name, value, value_json, value_bytes, version) values ($1, $2, $3::text::json, $3::text::jsonb, 9, 1)`,
    [id, LABELS, JSON.stringify(value)],
  )
}

describe('labels of a device', () => {
  it('are set, replaced and removed one by one, as a property with history, rows and audit events', async () => {
    expect(await setLabels({ site: 'pier4', ring: 'canary' })).toEqual({
      labels: { ring: 'canary', site: 'pier4' },
    })
    expect(await setLabels({ site: 'pier2', ring: 'canary' }, ['other'])).toEqual({
      labels: { ring: 'canary', site: 'pier2' },
    })
    expect(await rowsOf()).toEqual({ ring: 'canary', site: 'pier2' })
    expect(await owner.invoke('devices_GetProperty', { deviceId, name: LABELS })).toMatchObject({
      value: { ring: 'canary', site: 'pier2' },
      protected: true,
      version: 2,
    })
    expect(await setLabels({}, ['ring', 'site'])).toEqual({ labels: {} })
    expect(await rowsOf()).toEqual({})
    expect(await owner.invoke('devices_GetProperty', { deviceId, name: LABELS })).toEqual({
      result: 'NotFound',
    })
    const { changes } = await owner.invoke('devices_QueryPropertyHistory', { deviceId, name: LABELS })
    expect(changes.map(({ value }) => value)).toEqual([
      undefined,
      { ring: 'canary', site: 'pier2' },
      { ring: 'canary', site: 'pier4' },
    ])
    const events = (await auditEvents(hub)).filter(({ event }) => event.startsWith('devices_Label'))
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['devices_LabelSet', { projectId, deviceId, key: 'site', value: 'pier4' }],
      ['devices_LabelSet', { projectId, deviceId, key: 'ring', value: 'canary' }],
      ['devices_LabelSet', { projectId, deviceId, key: 'site', value: 'pier2' }],
      ['devices_LabelRemoved', { projectId, deviceId, key: 'ring' }],
      ['devices_LabelRemoved', { projectId, deviceId, key: 'site' }],
    ])
    const entries = await owner.invoke('devices_QueryTimeline', { deviceId })
    expect(JSON.stringify(entries)).not.toContain(LABELS)
    expect(JSON.stringify(entries)).toContain('devices_LabelRemoved')
  })

  it('of two people who change different keys at once are all kept', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, at) => setLabels({ [`key-${at}`]: `${at}` })))
    expect(Object.keys(await rowsOf())).toHaveLength(20)
    await Promise.all([
      ...Array.from({ length: 10 }, (_, at) => setLabels({}, [`key-${at}`])),
      ...Array.from({ length: 10 }, (_, at) => setLabels({ [`more-${at}`]: 'x' })),
    ])
    expect(Object.keys(await rowsOf()).toSorted()).toEqual(
      [
        ...Array.from({ length: 10 }, (_, at) => `key-${at + 10}`),
        ...Array.from({ length: 10 }, (_, at) => `more-${at}`),
      ].toSorted(),
    )
  })

  it('are at most 64, with keys and values of bounded length', async () => {
    const many = Object.fromEntries(Array.from({ length: MAX_LABELS }, (_, at) => [`k${at}`, 'v']))
    expect(Object.keys((await setLabels(many)).labels)).toHaveLength(MAX_LABELS)
    expect(await failed(setLabels({ one: 'more' }))).toMatchObject({
      kind: 'Invalid',
      message: 'The device would have 65 labels; at most 64 are possible. Remove some first.',
    })
    expect((await setLabels({ one: 'more' }, ['k0'])).labels).toMatchObject({ one: 'more' })
    await setLabels({ k1: '🏗'.repeat(255), ['-._'.repeat(21)]: 'ü' }, ['k2', 'k3'])
    for (const [set, path] of [
      [{ Site: 'a' }, 'set.Site'],
      [{ ['k'.repeat(64)]: 'a' }, 'set.k'],
      [{ '': 'a' }, 'set'],
      [{ 'a b': 'a' }, 'set.a b'],
      [{ ä: 'a' }, 'set.ä'],
      [JSON.parse('{"__proto__":"a"}'), 'set'],
      [{ k: 'x'.repeat(256) }, 'set.k'],
      [{ k: '' }, 'set.k'],
      [{ k: ' \u200b' }, 'set.k'],
      [{ k: 'a\nb' }, 'set.k'],
      [{ k: 'a\u202eb' }, 'set.k'],
      [{ ...many, one: 'more' }, 'set'],
    ] as const) {
      const error = await failed(setLabels(set))
      expect(error, JSON.stringify(set)).toMatchObject({ kind: 'Invalid' })
      expect(error.issues?.[0]?.path, JSON.stringify(set)).toContain(path)
    }
    expect(await failed(setLabels({ k4: 'a' }, ['k4']))).toMatchObject({ kind: 'Invalid' })
  })

  it('are never written by the device, and not by people as a property', async () => {
    await setLabels({ ring: 'stable' })
    for (const input of [{ value: { ring: 'canary' } }, { value: 1, expectedVersion: 2 }])
      expect(
        await failed(device.invoke('devices_SetProperty', { deviceId, name: LABELS, ...input })),
      ).toMatchObject({
        kind: 'Forbidden',
      })
    expect(await failed(device.invoke('devices_RemoveProperty', { deviceId, name: LABELS }))).toMatchObject({
      kind: 'Forbidden',
    })
    const field = 'dev.muster.device.name'
    expect(
      await failed(device.invoke('devices_SetProperty', { deviceId, name: field, value: 1 })),
    ).toMatchObject({
      kind: 'Forbidden',
    })
    for (const name of [LABELS, field, 'dev.muster.labels.before', 'dev.muster.other']) {
      const write = owner.invoke('devices_SetProperty', { deviceId, name, value: {} })
      expect(await failed(write)).toMatchObject({ kind: 'Invalid', message: expect.stringContaining(name) })
      expect(await failed(owner.invoke('devices_RemoveProperty', { deviceId, name }))).toMatchObject({
        kind: 'Invalid',
      })
    }
    await owner.invoke('devices_SetProperty', { deviceId, name: 'dev.muster.alarms', value: {} })
    expect(await rowsOf()).toEqual({ ring: 'stable' })
  })

  it('are not written by a device of a node of an older release either', async () => {
    await expect(reportByOldNode({ ring: 'canary' })).rejects.toThrow(
      'Only people set the labels of a device.',
    )
    await reportedBefore({ ring: 'canary' })
    await expect(reportByOldNode({ ring: 'beta' })).rejects.toThrow('Only people set the labels of a device.')
    expect(await rowsOf()).toEqual({})
  })

  it('that a device had reported before are moved and reported, by the job or with the first label', async () => {
    const other = await deviceRow(hub, projectId)
    await reportedBefore({ ring: 'canary' })
    await reportedBefore({ ring: 'beta' }, other)
    await setLabels({ site: 'pier4' }, [], other)
    expect(await rowsOf(other)).toEqual({ site: 'pier4' })
    expect(await hub.runJob('devices_MoveReportedLabels', {})).toMatchObject({ status: 'Completed' })
    for (const [id, ring] of [
      [deviceId, 'canary'],
      [other, 'beta'],
    ] as const)
      expect(
        await owner.invoke('devices_GetProperty', { deviceId: id, name: `${LABELS}.before` }),
      ).toMatchObject({
        value: { ring },
        protected: false,
      })
    expect(await owner.invoke('devices_GetProperty', { deviceId, name: LABELS })).toEqual({
      result: 'NotFound',
    })
    const moved = (await auditEvents(hub)).filter(({ event }) => event === 'devices_ReportedLabelsMoved')
    expect(moved.map(({ data, actor }) => ({ data, actor }))).toEqual([
      { data: { projectId, deviceId }, actor: { actor: 'System' } },
    ])
  })

  it('keep only what is a label of what a person sets with a node of an older release', async () => {
    await setLabels({ site: 'pier4' })
    const odd = JSON.stringify({ site: 'pier2', Ring: 'canary', n: 4, long: 'x'.repeat(256), 'a.b': 'c' })
    await sql`update device_property set value = ${odd}, value_json = ${odd} where name = ${LABELS}`.execute(
      hub.db,
    )
    expect(await rowsOf()).toEqual({ site: 'pier2', 'a.b': 'c' })
    await sql`update device_property set value = '{"site":4}', value_json = '{"site":4}' where name = ${LABELS}`.execute(
      hub.db,
    )
    expect(await rowsOf()).toEqual({})
    await sql`update device_property set value = '[1]', value_json = '[1]' where name = ${LABELS}`.execute(
      hub.db,
    )
    expect(await rowsOf()).toEqual({})
    expect((await setLabels({ site: 'pier4' })).labels).toEqual({ site: 'pier4' })
  })

  it('cost the write of another property no statement and no lock', async () => {
    await using session = await databaseSession(hub)
    const lockedBy = async (name: string) => {
      await session.query('begin')
      for (const value of ['1', '2'])
        await session.query(
          `insert into device_property (device_id, name, value, value_json, protected) values ($1, $2, $3::text::json, $3::text::jsonb, true)
           on conflict (device_id, name) do update set value = excluded.value, value_json = excluded.value_json`,
          [deviceId, name, value],
        )
      const locks = await session.query<{ name: string }>(
        `select distinct relation::regclass::text as name from pg_locks
          where pid = pg_backend_pid() and relation::regclass::text like 'device%' order by 1`,
      )
      await session.query('rollback')
      return locks.map(lock => lock.name)
    }
    const ofOther = await lockedBy('site.name')
    expect(ofOther).toContain('device_property')
    expect(ofOther).not.toContain('device_label')
    expect(await lockedBy(LABELS)).toContain('device_label')
  })

  it('go with their device', async () => {
    const other = await deviceRow(hub, projectId)
    await setLabels({ site: 'pier4' }, [], other)
    await owner.invoke('devices_Delete', { deviceId: other })
    expect(await rowsOf(other)).toEqual({})
  })
})

it('of a deployment token are those of the devices that enrol with it, and of no other', async () => {
  const input = {
    projectId,
    name: 'Canaries',
    flags: { autoAccept: true },
    labels: { ring: 'canary', site: 'pier4' },
  }
  const created = await owner.invoke('projects_CreateDeploymentToken', input)
  const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
  expect(tokens.find(({ tokenId }) => tokenId === created.tokenId)).toMatchObject({ labels: input.labels })
  await using canary = await connectDevice({ url: hub.url, token: created.token })
  expect(await rowsOf(canary.deviceId)).toEqual(input.labels)
  const { changes } = await owner.invoke('devices_QueryPropertyHistory', {
    deviceId: canary.deviceId,
    name: LABELS,
  })
  expect(changes).toMatchObject([
    { value: input.labels, actor: { actor: 'Device', deviceId: canary.deviceId, tokenId: created.tokenId } },
  ])
  const set = (await auditEvents(hub)).filter(({ event }) => event === 'devices_LabelSet')
  expect(set.map(({ data }) => data)).toEqual(
    Object.entries(input.labels).map(([key, value]) => ({
      projectId,
      deviceId: canary.deviceId,
      key,
      value,
    })),
  )
  expect((await setLabels({ site: 'pier2' }, ['ring'], canary.deviceId)).labels).toEqual({ site: 'pier2' })
  // A device that is known keeps its labels, whatever token it connects with.
  await using again = await connectDevice({ url: hub.url, token: created.token, identity: canary.identity })
  expect(again.deviceId).toBe(canary.deviceId)
  expect(await rowsOf(canary.deviceId)).toEqual({ site: 'pier2' })
})

it('of a deployment token are replaced for the devices that enrol afterwards', async () => {
  const { tokenId, token } = await owner.invoke('projects_CreateDeploymentToken', {
    projectId,
    name: 'Piers',
    flags: { autoAccept: true },
    labels: { site: 'pier4', ring: 'early' },
  })
  const labelsOfToken = async () => {
    const { tokens } = await owner.invoke('projects_QueryDeploymentTokens', { projectId })
    return tokens.find(one => one.tokenId === tokenId)!.labels
  }
  await using early = await connectDevice({ url: hub.url, token })
  await owner.invoke('projects_SetDeploymentTokenLabels', { tokenId, labels: { site: 'pier2' } })
  expect(await labelsOfToken()).toEqual({ site: 'pier2' })
  const event = (await auditEvents(hub)).findLast(
    one => one.event === 'projects_DeploymentTokenLabelsChanged',
  )
  expect(event).toMatchObject({ data: { projectId, tokenId, labels: { site: 'pier2' } } })
  const { rows: old } = await hub.pool.query(
    `select old_data::jsonb -> 'labels' as labels from audit_event where event = 'projects_DeploymentTokenLabelsChanged'`,
  )
  expect(old).toEqual([{ labels: { site: 'pier4', ring: 'early' } }])
  await using late = await connectDevice({ url: hub.url, token })
  expect(await rowsOf(late.deviceId)).toEqual({ site: 'pier2' })
  expect(await rowsOf(early.deviceId)).toEqual({ site: 'pier4', ring: 'early' })
  await owner.invoke('projects_SetDeploymentTokenLabels', { tokenId, labels: {} })
  expect(await labelsOfToken()).toBeUndefined()
  await expect(
    owner.invoke('projects_SetDeploymentTokenLabels', { tokenId, labels: { Site: 'pier2' } }),
  ).rejects.toMatchObject({ kind: 'Invalid' })
})

describe('suggestions', () => {
  it('are the keys and values of the project, most frequent first', async () => {
    const stranger = await hub.fleet()
    const foreign = await deviceRow(hub, stranger.projectId)
    await stranger.owner.invoke('devices_SetLabels', { deviceId: foreign, set: { secret: 'x' } })
    const ids = await Promise.all(Array.from({ length: 4 }, () => deviceRow(hub, projectId)))
    for (const [at, id] of ids.entries())
      await setLabels({ site: at < 3 ? 'pier4' : 'gate_north', ...(at === 0 && { ring: 'canary' }) }, [], id)
    expect(await owner.invoke('projects_QueryLabelKeys', { projectId })).toEqual({
      keys: [
        { key: 'site', deviceCount: 4, valueCount: 2 },
        { key: 'ring', deviceCount: 1, valueCount: 1 },
      ],
      keyCount: 2,
    })
    expect(await owner.invoke('projects_QueryLabelKeys', { projectId, text: 'IN', limit: 1 })).toMatchObject({
      keys: [{ key: 'ring' }],
      keyCount: 1,
    })
    expect(await owner.invoke('projects_QueryLabelValues', { projectId, key: 'site' })).toEqual({
      values: [
        { value: 'pier4', deviceCount: 3 },
        { value: 'gate_north', deviceCount: 1 },
      ],
      valueCount: 2,
    })
    expect(
      await owner.invoke('projects_QueryLabelValues', { projectId, key: 'site', text: '_' }),
    ).toMatchObject({
      values: [{ value: 'gate_north' }],
    })
  })

  it('end without an answer after 2 s', async () => {
    await using session = await databaseSession(hub)
    await session.lock('device_label')
    expect(await owner.invoke('projects_QueryLabelKeys', { projectId })).toMatchObject({ tookTooLong: true })
  })
})

describe('the list of devices', () => {
  let listed: string
  const ids: Record<string, string> = {}

  beforeEach(async () => {
    const organizationId = await hub.organization(owner)
    listed = await hub.project(owner, organizationId)
    const labels: Record<string, Record<string, string>> = {
      a: { site: 'pier4', ring: 'canary', 'a.b': 'c' },
      b: { site: 'pier2', floor: '4' },
      c: { site: 'Pier4' },
      d: {},
    }
    for (const [name, set] of Object.entries(labels)) {
      ids[name] = await deviceRow(hub, listed, { name })
      await setLabels(set, [], ids[name])
    }
  })

  async function list(input: object = {}): Promise<string> {
    const { devices } = await owner.invoke('projects_QueryDevices', {
      projectId: listed,
      sort: 'name',
      ...input,
    })
    return devices.map(({ name }) => name).join('')
  }

  it('shows the labels, with and without pages, and as columns', async () => {
    for (const limit of [undefined, 10]) {
      const { devices, memberColumns } = await owner.invoke('projects_QueryDevices', {
        projectId: listed,
        sort: 'name',
        limit,
        columns: [`${LABELS}.site`, `${LABELS}.a.b`],
      })
      expect(devices.map(({ labels }) => labels)).toEqual([
        { site: 'pier4', ring: 'canary', 'a.b': 'c' },
        { site: 'pier2', floor: '4' },
        { site: 'Pier4' },
        undefined,
      ])
      expect(devices.map(({ properties }) => properties)).toEqual([
        { [`${LABELS}.site`]: 'pier4', [`${LABELS}.a.b`]: 'c' },
        { [`${LABELS}.site`]: 'pier2' },
        { [`${LABELS}.site`]: 'Pier4' },
        {},
      ])
      expect(memberColumns).toEqual([])
    }
    expect(await owner.invoke('devices_GetDetails', { deviceId: ids.b! })).toMatchObject({
      labels: { site: 'pier2', floor: '4' },
    })
  })

  it('sorts by a label, devices without it last in both directions', async () => {
    const sort = `=${LABELS}.site`
    for (const limit of [undefined, 1]) {
      const inOrder = async (order: string) => {
        let [names, cursor] = ['', undefined as string | undefined]
        do {
          const page = await owner.invoke('projects_QueryDevices', {
            projectId: listed,
            sort: order,
            limit,
            cursor,
          })
          names += page.devices.map(({ name }) => name).join('')
          cursor = page.nextCursor
        } while (cursor !== undefined)
        return names
      }
      expect(await inOrder(sort)).toBe('cbad')
      expect(await inOrder(`-${sort}`)).toBe('abcd')
    }
  })

  it.each([
    [{ operator: 'equals', value: 'pier4' }, 'site', 'a'],
    [{ operator: 'notEquals', value: 'pier4' }, 'site', 'bcd'],
    [{ operator: 'contains', value: 'PIER' }, 'site', 'abc'],
    [{ operator: 'exists' }, 'a.b', 'a'],
    [{ operator: 'absent' }, 'ring', 'bcd'],
    [{ operator: 'equals', value: 4 }, 'floor', 'b'],
    [{ operator: 'greater', value: 1 }, 'floor', ''],
  ])('finds by the condition %j on a label', async (condition, key, expected) => {
    const properties = [{ property: `${LABELS}.${key}`, ...condition }]
    expect(await list({ filter: { properties } })).toBe(expected)
  })

  it.each([
    ['label.site = "pier4"', 'a'],
    ['label["a.b"] = "c"', 'a'],
    ['not label.site = "pier4"', 'bc'],
    ['label.site != "pier4"', 'bc'],
    ['label.site in ["pier4", "pier2"]', 'ab'],
    ['label.site contains "pier"', 'abc'],
    ['exists label.ring', 'a'],
    ['not exists label.ring', 'bcd'],
    ['label.ring else "stable" = "stable"', 'bcd'],
    ['exists property["dev.muster.labels"]', 'abc'],
    ['property["dev.muster.labels"] = {"site": "Pier4"}', 'c'],
    ['label.site > "pier2"', 'a'],
    ['label.floor = 4', ''],
    ['label.site.x = "pier4"', ''],
  ])('finds by the predicate %s', async (text, expected) => {
    expect(await list({ filter: { predicate: readPredicate(text) } })).toBe(expected)
  })

  it('does not take what a device had reported for labels', async () => {
    const reporting = await deviceRow(hub, listed, { name: 'e' })
    await reportedBefore({ site: 'pier4' }, reporting)
    expect(await list({ filter: { predicate: readPredicate('label.site = "pier4"') } })).toBe('a')
    expect(await list({ filter: { predicate: readPredicate('label.site contains "pier4"') } })).toBe('ac')
    expect(await list({ filter: { properties: [{ property: `${LABELS}.site`, operator: 'exists' }] } })).toBe(
      'abc',
    )
  })

  it('suggests labels and their values like properties', async () => {
    const { names } = await owner.invoke('projects_QueryPropertyNames', {
      projectId: listed,
      namesOnly: true,
    })
    expect(names.map(({ path }) => path)).toEqual(
      ['', '.a.b', '.floor', '.ring', '.site'].map(end => `${LABELS}${end}`),
    )
    const input = { projectId: listed, property: `${LABELS}.site`, text: 'pier' }
    const { values, absentCount } = await owner.invoke('projects_QueryPropertyValues', input)
    expect(values.map(({ value }) => value).toSorted()).toEqual(['Pier4', 'pier2', 'pier4'])
    expect(absentCount).toBe(1)
  })
})
