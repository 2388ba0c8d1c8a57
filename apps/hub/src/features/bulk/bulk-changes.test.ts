import { MAX_BULK_ITEMS, newId } from '@muster/actions'
import { MAX_LABELS, readPredicate } from '@muster/predicates'
import {
  auditEvents,
  clearAudit,
  connectDevice,
  databaseSession,
  deviceRow,
  failed,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../platform/config/config.ts'

let hub: TestHub
let owner: TestUser
let colleague: TestUser
let organizationId: string
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user({ displayName: 'Olga' })
  colleague = await hub.user({ displayName: 'Carl' })
  organizationId = await hub.organization(owner, [colleague])
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  projectId = await hub.project(owner, organizationId)
  await clearAudit(hub)
})

const byIds = (...deviceIds: string[]) => ({ kind: 'devices' as const, deviceIds })
const where = (predicate: string) => ({
  kind: 'filter' as const,
  filter: { predicate: readPredicate(predicate) },
})

async function devices(count: number, values: object = {}): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++)
    ids.push(await deviceRow(hub, projectId, { firstSeen: new Date(Date.now() - at * 1000), ...values }))
  return ids
}

const setLabels = (deviceId: string, set: Record<string, string>, remove: string[] = [], person = owner) =>
  person.invoke('devices_SetLabels', { deviceId, set, remove })

const previewLabels = (
  selection: object,
  set: Record<string, string>,
  remove: string[] = [],
  person = owner,
) => person.invoke('devices_CreateBulkLabels', { projectId, selection: selection as never, set, remove })

const start = (bulkActionId: string, person = owner) =>
  person.invoke('devices_StartBulkChange', { projectId, bulkActionId })
const stateOf = (bulkActionId: string) => owner.invoke('devices_GetBulkAction', { projectId, bulkActionId })
const undo = async (bulkActionId: string, person = owner) =>
  (await person.invoke('devices_StartBulkUndo', { projectId, bulkActionId })).bulkActionId

async function itemsOf(bulkActionId: string, outcome?: 'Succeeded' | 'Refused' | 'Open') {
  const { items } = await owner.invoke('devices_QueryBulkActionItems', { projectId, bulkActionId, outcome })
  return items
}

function ended(bulkActionId: string) {
  return until(
    'the bulk action ends',
    async () => {
      const state = await stateOf(bulkActionId)
      return !['Waiting', 'Running'].includes(state.status) && state
    },
    60_000,
  )
}

async function labelsOf(deviceId: string): Promise<Record<string, string>> {
  return (await owner.invoke('devices_GetDetails', { deviceId })).labels ?? {}
}

async function nameOf(deviceId: string): Promise<string | undefined> {
  return (await owner.invoke('devices_GetDetails', { deviceId })).name
}

/** Number of rows of the property with the labels, with its values as text. */
async function propertyTexts(deviceId: string): Promise<string[]> {
  const { rows } = await hub.pool.query<{ value: string }>(
    `select value::text as value from device_property where device_id = $1 and name = 'dev.muster.labels'`,
    [deviceId],
  )
  return rows.map(({ value }) => value)
}

describe('labels of several devices', () => {
  it('are previewed with numbers, values before and after, and reasons', async () => {
    const [plain, same, full, other] = await devices(4)
    const connected = await deviceRow(hub, projectId, { isConnected: true, name: 'gate' })
    await setLabels(same!, { ring: 'early' })
    await setLabels(other!, { ring: 'broad' })
    const many = Object.fromEntries(Array.from({ length: MAX_LABELS }, (_, at) => [`key-${at}`, 'x']))
    await setLabels(full!, many)
    const made = await previewLabels(byIds(plain!, same!, full!, other!, connected, newId('d'), plain!), {
      ring: 'early',
    })
    expect(made).toMatchObject({
      itemCount: 5,
      changeCount: 3,
      connectedCount: 1,
      leftOutCount: 1,
      sharedNameCount: 0,
      first: [
        { deviceId: plain, changes: [{ label: 'ring', after: 'early' }], isConnected: false },
        { deviceId: other, changes: [{ label: 'ring', before: 'broad', after: 'early' }] },
        { deviceId: connected, name: 'gate', isConnected: true },
      ],
      excluded: [
        { reason: 'AlreadySet', deviceCount: 1, first: [{ deviceId: same }] },
        { reason: 'TooManyLabels', deviceCount: 1, first: [{ deviceId: full }] },
      ],
    })
    expect(
      await owner.invoke('devices_GetBulkPreview', { projectId, bulkActionId: made.bulkActionId }),
    ).toEqual(made)
    expect(await labelsOf(plain!)).toEqual({})
  })

  it('are set and removed at once, with an event, a row of history and a result for each', async () => {
    const [one, two, three] = await devices(3)
    await setLabels(one!, { site: 'pier2', old: 'x' })
    await setLabels(two!, { old: 'y' })
    await clearAudit(hub)
    await using console = await liveStream(hub, owner)
    const { bulkActionId } = await previewLabels(byIds(one!, two!, three!), { site: 'pier4' }, ['old'])
    await start(bulkActionId)
    expect(await labelsOf(one!)).toEqual({ site: 'pier4' })
    expect(await labelsOf(two!)).toEqual({ site: 'pier4' })
    expect(await labelsOf(three!)).toEqual({ site: 'pier4' })
    expect(await stateOf(bulkActionId)).toMatchObject({
      kind: 'SetLabels',
      status: 'Completed',
      actorName: 'Olga',
      itemCount: 3,
      succeededCount: 3,
      reasons: [],
      set: { site: 'pier4' },
      remove: ['old'],
    })
    expect(await itemsOf(bulkActionId)).toMatchObject([
      {
        deviceId: one,
        outcome: 'Succeeded',
        changes: [
          { label: 'site', before: 'pier2', after: 'pier4' },
          { label: 'old', before: 'x' },
        ],
      },
      { deviceId: two, outcome: 'Succeeded' },
      { deviceId: three, outcome: 'Succeeded', changes: [{ label: 'site', after: 'pier4' }] },
    ])
    const set = await auditEvents(hub, 'devices_LabelSet')
    expect(set).toHaveLength(3)
    expect(set[0]).toMatchObject({
      action: 'devices_StartBulkChange',
      actor: { actor: 'User', userId: owner.userId },
      organizationId,
      projectId,
      deviceId: one,
      data: { key: 'site', value: 'pier4' },
    })
    expect(await auditEvents(hub, 'devices_LabelRemoved')).toHaveLength(2)
    const { changes } = await owner.invoke('devices_QueryPropertyHistory', {
      deviceId: one!,
      name: 'dev.muster.labels',
    })
    expect(changes.map(({ value, version }) => [version, value])).toEqual([
      [2, { site: 'pier4' }],
      [1, { old: 'x', site: 'pier2' }],
    ])
    await until('the console is told', () =>
      console.changes.some(({ topic, deviceId }) => topic === 'properties' && deviceId === three),
    )
    const { devices: found } = await owner.invoke('projects_QueryDevices', {
      projectId,
      filter: { bulkActionId: bulkActionId as never },
    })
    expect(found).toHaveLength(3)
  })

  it('that are all removed leave no property behind, and raise the version of the next', async () => {
    const [one] = await devices(1)
    await setLabels(one!, { site: 'pier2' })
    const { bulkActionId } = await previewLabels(byIds(one!), {}, ['site'])
    await start(bulkActionId)
    expect(await propertyTexts(one!)).toEqual([])
    await setLabels(one!, { site: 'pier3' })
    expect(
      await owner.invoke('devices_GetProperty', { deviceId: one!, name: 'dev.muster.labels' }),
    ).toMatchObject({
      version: 3,
    })
  })

  it('take predicates and saved views as targets, resolved when they are previewed', async () => {
    const [one, two] = await devices(2)
    await setLabels(one!, { site: 'pier4' })
    const byPredicate = await previewLabels(where('label.site = "pier4"'), { ring: 'early' })
    expect(byPredicate).toMatchObject({ changeCount: 1, first: [{ deviceId: one }] })
    const { viewId } = await owner.invoke('views_Create', {
      projectId,
      name: 'Without a site',
      conditions: { predicate: readPredicate('not exists label.site') },
      isShared: false,
    })
    const selection = { kind: 'view' as const, viewId }
    expect(await owner.invoke('devices_GetBulkCounts', { projectId, selection })).toMatchObject({
      deviceCount: 1,
    })
    const byView = await previewLabels(selection, { ring: 'late' })
    await setLabels(one!, {}, ['site'])
    await start(byView.bulkActionId)
    expect(await labelsOf(two!)).toEqual({ ring: 'late' })
    expect(await labelsOf(one!)).toEqual({})
    // A private view of somebody else is none, and a deleted one has a reason.
    const foreign = failed(previewLabels(selection, { ring: 'x' }, [], colleague))
    expect(await foreign).toMatchObject({ kind: 'Forbidden' })
    await owner.invoke('views_Delete', { projectId, viewId })
    expect(await failed(previewLabels(selection, { ring: 'x' }))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('"Without a site" was deleted'),
    })
  })

  it('leave alone what others changed meanwhile, with actor and time, and do nothing by halves', async () => {
    const [deleted, changed, same, halfSame, kept] = await devices(5)
    await setLabels(changed!, { ring: 'broad' })
    const { bulkActionId } = await previewLabels(byIds(deleted!, changed!, same!, halfSame!, kept!), {
      ring: 'early',
      site: 'pier4',
    })
    await colleague.invoke('devices_Delete', { deviceId: deleted! })
    await setLabels(changed!, { ring: 'canary' }, [], colleague)
    await setLabels(same!, { ring: 'early', site: 'pier4' }, [], colleague)
    await setLabels(halfSame!, { ring: 'early' }, [], colleague)
    await start(bulkActionId)
    expect(await itemsOf(bulkActionId, 'Refused')).toMatchObject([
      { deviceId: deleted, reason: 'DeviceDeleted', actorName: 'Carl', exists: false },
      { deviceId: changed, reason: 'ChangedMeanwhile', actorName: 'Carl', actedAt: expect.any(String) },
      { deviceId: same, reason: 'AlreadySet' },
    ])
    expect(await labelsOf(changed!)).toEqual({ ring: 'canary' })
    expect(await labelsOf(halfSame!)).toEqual({ ring: 'early', site: 'pier4' })
    expect(await itemsOf(bulkActionId, 'Succeeded')).toMatchObject([
      { deviceId: halfSame, changes: [{ label: 'site', after: 'pier4' }] },
      { deviceId: kept },
    ])
    expect(await stateOf(bulkActionId)).toMatchObject({
      succeededCount: 2,
      skippedCount: 3,
      reasons: [
        { reason: 'AlreadySet', itemCount: 1 },
        { reason: 'ChangedMeanwhile', itemCount: 1 },
        { reason: 'DeviceDeleted', itemCount: 1 },
      ],
    })
    await undo(bulkActionId)
    expect(await labelsOf(halfSame!)).toEqual({ ring: 'early' })
  })

  it('leave no empty property on a device that is skipped', async () => {
    const [one] = await devices(1)
    await setLabels(one!, { site: 'a' })
    const { bulkActionId } = await previewLabels(byIds(one!), { site: 'b', ring: 'x' })
    await setLabels(one!, {}, ['site'])
    await start(bulkActionId)
    expect(await itemsOf(bulkActionId)).toMatchObject([{ reason: 'ChangedMeanwhile' }])
    expect(await propertyTexts(one!)).toEqual([])
  })

  it('never touch devices of other organizations', async () => {
    const stranger = await hub.user()
    const foreignProject = await hub.project(stranger, await hub.organization(stranger))
    const foreign = await deviceRow(hub, foreignProject)
    const [own] = await devices(1)
    const made = await previewLabels(byIds(foreign, own!), { site: 'x' })
    expect(made).toMatchObject({ itemCount: 1, leftOutCount: 1 })
    expect(JSON.stringify(made)).not.toContain(foreign)
    await start(made.bulkActionId)
    expect(await propertyTexts(foreign)).toEqual([])
    for (const action of [
      'devices_GetBulkPreview',
      'devices_StartBulkChange',
      'devices_StartBulkUndo',
    ] as const)
      expect(
        await failed(stranger.invoke(action, { projectId: foreignProject, bulkActionId: made.bulkActionId })),
      ).toMatchObject({ kind: 'Forbidden' })
  })

  it('of 450 devices are set by a job, which another person can cancel', async () => {
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, first_seen)
       select 'd_' || translate(left(md5($1 || i), 22), '0', 'z'), $1, 'd_pk_' || md5($1 || i), decode(md5($1 || i), 'hex'),
              now() - make_interval(secs => i) from generate_series(1, 450) i`,
      [projectId],
    )
    const { bulkActionId, changeCount } = await previewLabels({ kind: 'filter' }, { site: 'pier4' })
    expect(changeCount).toBe(450)
    await start(bulkActionId)
    expect(await ended(bulkActionId)).toMatchObject({ status: 'Completed', succeededCount: 450 })
    const { values } = await owner.invoke('projects_QueryLabelValues', { projectId, key: 'site' })
    expect(values).toEqual([{ value: 'pier4', deviceCount: 450 }])
    const undoId = await undo(bulkActionId)
    expect(await ended(undoId)).toMatchObject({
      status: 'Completed',
      succeededCount: 450,
      undoes: bulkActionId,
    })
    const { keys } = await owner.invoke('projects_QueryLabelKeys', { projectId })
    expect(keys).toEqual([])
  })

  it('above 20,000 devices are refused with that number', async () => {
    const deviceIds = Array.from({ length: MAX_BULK_ITEMS + 1 }, () => newId('d'))
    expect(await failed(previewLabels(byIds(...deviceIds), { site: 'x' }))).toMatchObject({ kind: 'Invalid' })
  })

  it('skip a device whose budget of writes is used up', async () => {
    const { limits } = loadConfig({})
    await using small = await testHub({ limits: { ...limits, 'device-property-bytes-per-hour': 5000 } })
    const person = await small.user()
    const project = await small.project(person, await small.organization(person))
    const full = await deviceRow(small, project)
    const set = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`key-${at}`, 'x'.repeat(200)]))
    const ids = { projectId: project, selection: byIds(full) }
    const { bulkActionId } = await person.invoke('devices_CreateBulkLabels', { ...ids, set })
    await person.invoke('devices_StartBulkChange', { projectId: project, bulkActionId })
    expect(await person.invoke('devices_GetBulkAction', { projectId: project, bulkActionId })).toMatchObject({
      succeededCount: 0,
      reasons: [{ reason: 'OverLimit', itemCount: 1 }],
    })
    const { rows } = await small.pool.query('select from device_property where device_id = $1', [full])
    expect(rows).toEqual([])
  })

  it('with nothing to do are not started', async () => {
    const [one] = await devices(1)
    await setLabels(one!, { site: 'x' })
    const made = await previewLabels(byIds(one!), { site: 'x' }, ['absent'])
    expect(made).toMatchObject({ changeCount: 0, excluded: [{ reason: 'AlreadySet', deviceCount: 1 }] })
    expect(await failed(start(made.bulkActionId))).toMatchObject({
      kind: 'Invalid',
      status: 409,
      message: expect.stringContaining('Nothing to do'),
    })
  })

  it('are refused with the name of a wrong key or value', async () => {
    const [one] = await devices(1)
    for (const set of [
      { Site: 'x' },
      { site: '' },
      { site: 'x'.repeat(256) },
      { 'a b': 'x' },
      { site: 'a\nb' },
    ])
      expect(await failed(previewLabels(byIds(one!), set as never))).toMatchObject({
        kind: 'Invalid',
        issues: [expect.objectContaining({ path: `set.${Object.keys(set)[0]}` })],
      })
  })
})

describe('a user token', () => {
  it('sets labels, names and imports, cancels them and undoes them, but deletes and decides nothing', async () => {
    const invoke = hub.withToken(await hub.userToken(owner))
    const [one] = await devices(1)
    const selection = byIds(one!)
    const made = await invoke('devices_CreateBulkLabels', { projectId, selection, set: { site: 'x' } })
    const { bulkActionId } = made
    await invoke('devices_StartBulkChange', { projectId, bulkActionId })
    expect(await labelsOf(one!)).toEqual({ site: 'x' })
    const [event] = await auditEvents(hub, 'devices_LabelSet')
    expect(event).toMatchObject({ actor: { actor: 'UserToken', userId: owner.userId } })
    await invoke('devices_StartBulkUndo', { projectId, bulkActionId })
    expect(await labelsOf(one!)).toEqual({})
    const renamed = await invoke('devices_CreateBulkRename', { projectId, selection, pattern: 'n' })
    await invoke('devices_CancelBulkAction', { projectId, bulkActionId: renamed.bulkActionId })
    expect(await failed(start(renamed.bulkActionId))).toMatchObject({ kind: 'Invalid' })
    const deletion = await owner.invoke('devices_CreateBulkDeletion', { projectId, selection })
    const refused = await Promise.all(
      [
        invoke('devices_CreateBulkDeletion', { projectId, selection }),
        invoke('devices_CancelBulkAction', { projectId, bulkActionId: deletion.bulkActionId }),
        invoke('devices_StartBulkChange', { projectId, bulkActionId: deletion.bulkActionId }),
      ].map(failed),
    )
    for (const error of refused) expect(error).toMatchObject({ kind: 'Forbidden' })
  })

  it('keeps previews that programs make at once, up to five', async () => {
    const invoke = hub.withToken(await hub.userToken(owner))
    const [one] = await devices(1)
    const ids: string[] = []
    for (let at = 0; at < 6; at++)
      ids.push(
        (await invoke('devices_CreateBulkLabels', { projectId, selection: byIds(one!), set: { a: `${at}` } }))
          .bulkActionId,
      )
    await previewLabels(byIds(one!), { b: 'x' })
    const preview = (bulkActionId: string) => invoke('devices_GetBulkPreview', { projectId, bulkActionId })
    expect(await failed(preview(ids[0]!))).toMatchObject({ kind: 'Forbidden' })
    for (const id of ids.slice(1)) expect(await preview(id)).toMatchObject({ changeCount: 1 })
  })

  it('that is deleted stops the bulk action', async () => {
    const token = await hub.userToken(owner)
    const invoke = hub.withToken(token)
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_' || translate(left(md5($1 || i), 22), '0', 'z'), $1, 'd_pk_' || md5($1 || i), decode(md5($1 || i), 'hex')
         from generate_series(1, 300) i`,
      [projectId],
    )
    const { bulkActionId } = await invoke('devices_CreateBulkLabels', {
      projectId,
      selection: { kind: 'filter' },
      set: { site: 'x' },
    })
    await using session = await databaseSession(hub)
    await session.query('begin')
    await session.query('select from bulk_action where bulk_action_id = $1 for update', [bulkActionId])
    const started = invoke('devices_StartBulkChange', { projectId, bulkActionId })
    await until('the start waits for the lock', async () => {
      const { rows } = await hub.pool.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%"bulk_action"%for update%'`,
      )
      return rows.length > 0
    })
    await hub.pool.query(`delete from user_token where user_id = $1`, [owner.userId])
    await session.query('commit')
    await started
    expect(await ended(bulkActionId)).toMatchObject({ status: 'Stopped' })
    expect((await owner.invoke('projects_QueryLabelKeys', { projectId })).keys).toEqual([])
  })
})

describe('names by a pattern', () => {
  it('are previewed, given and undone, with a reason for each device that keeps its name', async () => {
    const one = await deviceRow(hub, projectId, { name: 'old', hostname: 'gw-1' })
    const two = await deviceRow(hub, projectId, { hostname: 'gw-2' })
    const three = await deviceRow(hub, projectId, { name: 'pier4-gw-3-03', hostname: 'gw-3' })
    const without = await deviceRow(hub, projectId, { name: 'stays' })
    const long = await deviceRow(hub, projectId, { hostname: 'x'.repeat(130) })
    const all = [one, two, three, without, long]
    for (const deviceId of all) await setLabels(deviceId, { site: 'pier4' })
    const made = await owner.invoke('devices_CreateBulkRename', {
      projectId,
      selection: byIds(...all),
      pattern: '{label:site}-{hostname}-{index:2}',
    })
    expect(made).toMatchObject({
      itemCount: 5,
      changeCount: 2,
      sharedNameCount: 0,
      first: [
        { deviceId: one, changes: [{ before: 'old', after: 'pier4-gw-1-01' }] },
        { deviceId: two, changes: [{ after: 'pier4-gw-2-02' }] },
      ],
    })
    expect(
      Object.fromEntries(made.excluded.map(({ reason, first }) => [reason, first[0]!.deviceId])),
    ).toEqual({
      AlreadySet: three,
      ValueMissing: without,
      NameTooLong: long,
    })
    const { bulkActionId } = made
    await start(bulkActionId)
    expect([await nameOf(one), await nameOf(two)]).toEqual(['pier4-gw-1-01', 'pier4-gw-2-02'])
    expect(await stateOf(bulkActionId)).toMatchObject({
      kind: 'Rename',
      pattern: '{label:site}-{hostname}-{index:2}',
      succeededCount: 2,
      skippedCount: 3,
      undoForSecs: expect.any(Number),
    })
    const events = await auditEvents(hub, 'devices_NameChanged')
    expect(events.map(({ data }) => data)).toMatchObject([
      { deviceId: one, name: 'pier4-gw-1-01' },
      { deviceId: two, name: 'pier4-gw-2-02' },
    ])
    const { devices: sorted } = await owner.invoke('projects_QueryDevices', {
      projectId,
      filter: { predicate: readPredicate('device.name in ["pier4-gw-1-01", "pier4-gw-2-02"]') },
      sort: '-name',
    })
    expect(sorted.map(({ deviceId }) => deviceId)).toEqual([two, one])
    await undo(bulkActionId)
    expect([await nameOf(one), await nameOf(two)]).toEqual(['old', undefined])
  })

  it('count the devices that would share a name, and begin with a chosen number', async () => {
    const ids = await devices(3)
    const shared = await owner.invoke('devices_CreateBulkRename', {
      projectId,
      selection: byIds(...ids),
      pattern: 'crane',
    })
    expect(shared).toMatchObject({ changeCount: 3, sharedNameCount: 3 })
    const numbered = await owner.invoke('devices_CreateBulkRename', {
      projectId,
      selection: byIds(...ids),
      pattern: '{index}',
      firstIndex: 10,
    })
    expect(numbered.first.map(({ changes }) => changes[0]!.after)).toEqual(['10', '11', '12'])
  })

  it('skip a device that somebody renames meanwhile', async () => {
    const [one] = await devices(1)
    const { bulkActionId } = await owner.invoke('devices_CreateBulkRename', {
      projectId,
      selection: byIds(one!),
      pattern: 'crane',
    })
    await colleague.invoke('devices_SetName', { deviceId: one!, name: 'gate' })
    await start(bulkActionId)
    expect(await itemsOf(bulkActionId)).toMatchObject([{ reason: 'ChangedMeanwhile', actorName: 'Carl' }])
    expect(await nameOf(one!)).toBe('gate')
  })

  it('are refused with the column of a wrong placeholder', async () => {
    const [one] = await devices(1)
    const wrong = owner.invoke('devices_CreateBulkRename', {
      projectId,
      selection: byIds(one!),
      pattern: 'site-{lable:site}',
    })
    expect(await failed(wrong)).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('column 6: found {lable:site}, expected {hostname}'),
      issues: [{ path: 'pattern', message: expect.any(String) }],
    })
  })
})

describe('undo', () => {
  it('sets the old values again, except where they were changed since, once', async () => {
    const [one, two, gone] = await devices(3)
    await setLabels(one!, { ring: 'broad' })
    const { bulkActionId } = await previewLabels(byIds(one!, two!, gone!), { ring: 'early' })
    await start(bulkActionId)
    await setLabels(two!, { ring: 'canary' }, [], colleague)
    await owner.invoke('devices_Delete', { deviceId: gone! })
    const undoId = await undo(bulkActionId, colleague)
    expect(await labelsOf(one!)).toEqual({ ring: 'broad' })
    expect(await labelsOf(two!)).toEqual({ ring: 'canary' })
    expect(await itemsOf(undoId)).toMatchObject([
      { deviceId: one, outcome: 'Succeeded', changes: [{ label: 'ring', before: 'early', after: 'broad' }] },
      { deviceId: two, reason: 'ChangedMeanwhile', actorName: 'Carl' },
      { deviceId: gone, reason: 'DeviceDeleted' },
    ])
    expect(await stateOf(bulkActionId)).toMatchObject({ undoneBy: undoId })
    expect(await stateOf(bulkActionId)).not.toHaveProperty('undoForSecs')
    expect(await stateOf(undoId)).toMatchObject({ kind: 'Undo', undoes: bulkActionId, actorName: 'Carl' })
    expect(await failed(undo(bulkActionId))).toMatchObject({
      kind: 'Invalid',
      status: 409,
      message: expect.stringContaining('undone already'),
    })
    // Undoing the undo makes the change again.
    await undo(undoId)
    expect(await labelsOf(one!)).toEqual({ ring: 'early' })
  })

  it('is refused after 10 min, before the end, and for what has changed nothing', async () => {
    const [one] = await devices(1)
    const { bulkActionId } = await previewLabels(byIds(one!), { ring: 'early' })
    const refused = async () => (await failed(undo(bulkActionId))) as Error
    expect((await refused()).message).toContain('not started')
    await start(bulkActionId)
    await hub.pool.query(
      `update bulk_action set ended_at = now() - interval '10 min 1 s' where bulk_action_id = $1`,
      [bulkActionId],
    )
    expect((await refused()).message).toContain('more than 10 min ago')
    await hub.pool.query(`update bulk_action set status = 'Running' where bulk_action_id = $1`, [
      bulkActionId,
    ])
    expect((await refused()).message).toContain('still runs')
    await hub.pool.query(
      `update bulk_action set status = 'Completed', ended_at = now(), succeeded_count = 0 where bulk_action_id = $1`,
      [bulkActionId],
    )
    expect((await refused()).message).toContain('changed nothing')
    const deletion = await owner.invoke('devices_CreateBulkDeletion', { projectId, selection: byIds(one!) })
    expect(await failed(undo(deletion.bulkActionId))).toMatchObject({ kind: 'Invalid' })
  })
})

describe('an import', () => {
  type Form = { by?: string; property?: string; columns?: string[]; emptyRemoves?: boolean }
  async function imported(
    rows: [key: string, ...values: string[]][],
    { by = 'id', columns = ['name', 'label.site'], ...form }: Form = {},
  ) {
    const { bulkActionId } = await owner.invoke('devices_CreateBulkImport', {
      projectId,
      by: by as never,
      columns,
      ...form,
    })
    await owner.invoke('devices_AddBulkImportRows', {
      projectId,
      bulkActionId,
      rows: rows.map(([key, ...values], at) => ({ row: at + 2, key, values })),
    })
    return owner.invoke('devices_GetBulkPreview', { projectId, bulkActionId })
  }

  it('names and labels devices by their ids, and says what is wrong with each other row', async () => {
    const [one, two, same] = await devices(3)
    await setLabels(two!, { site: 'pier2' })
    await setLabels(same!, { site: 'pier4' })
    const stranger = await hub.user()
    const foreign = await deviceRow(hub, await hub.project(stranger, await hub.organization(stranger)))
    const unknown = newId('d')
    const made = await imported([
      [one!, 'crane 1', 'pier4'],
      [two!, '', 'pier4'],
      [same!, '', 'pier4'],
      [one!, 'crane 2', 'pier5'],
      [unknown, 'x', 'y'],
      [foreign, 'x', 'y'],
      ['', 'x', 'y'],
      [` ${one} `, '', ''],
      ['d_nonsense', '', 'a'],
    ])
    expect(made).toMatchObject({
      itemCount: 3,
      changeCount: 2,
      rowCount: 9,
      excluded: [{ reason: 'AlreadySet', deviceCount: 1 }],
    })
    const problems = Object.fromEntries(made.problems!.map(({ problem, ...of }) => [problem, of]))
    expect(problems).toMatchObject({
      NotFound: { rowCount: 3, first: [{ row: 6, key: unknown }, { row: 7, key: foreign }, { row: 10 }] },
      Doubled: { rowCount: 2, first: [{ row: 5, message: 'Row 2 names this device too.' }, { row: 9 }] },
      Invalid: { rowCount: 1, first: [{ row: 8, message: 'The key is empty.' }] },
    })
    const { bulkActionId } = made
    const { rows, total } = await owner.invoke('devices_QueryBulkImportProblems', {
      projectId,
      bulkActionId,
      limit: 2,
    })
    expect([rows.map(({ row }) => row), total]).toEqual([[5, 6], 6])
    await start(bulkActionId)
    expect([await nameOf(one!), await labelsOf(one!)]).toEqual(['crane 1', { site: 'pier4' }])
    expect([await nameOf(two!), await labelsOf(two!)]).toEqual([undefined, { site: 'pier4' }])
    expect(await stateOf(bulkActionId)).toMatchObject({ kind: 'Import', succeededCount: 2, skippedCount: 1 })
    expect(await itemsOf(bulkActionId, 'Succeeded')).toMatchObject([{ row: 2 }, { row: 3 }])
    await undo(bulkActionId)
    expect([await nameOf(one!), await labelsOf(one!)]).toEqual([undefined, {}])
    expect(await labelsOf(two!)).toEqual({ site: 'pier2' })
  })

  it('refuses a device whose cells are no name or label, with the column', async () => {
    const [one, two] = await devices(2)
    const made = await imported([
      [one!, 'x'.repeat(129), 'pier4'],
      [two!, 'fine', 'a\tb'],
    ])
    expect(made).toMatchObject({
      changeCount: 0,
      problems: [
        {
          problem: 'Invalid',
          rowCount: 2,
          first: [
            { row: 2, message: 'name: must have at most 128 characters.' },
            { row: 3, message: 'label.site: must not contain control characters.' },
          ],
        },
      ],
    })
  })

  it('removes with empty cells only if asked', async () => {
    const [one] = await devices(1)
    await setLabels(one!, { site: 'pier4', ring: 'x' })
    await owner.invoke('devices_SetName', { deviceId: one!, name: 'crane' })
    expect(await imported([[one!, '', '']])).toMatchObject({ changeCount: 0 })
    const { bulkActionId } = await imported([[one!, '', '']], { emptyRemoves: true })
    await start(bulkActionId)
    expect([await nameOf(one!), await labelsOf(one!)]).toEqual([undefined, { ring: 'x' }])
  })

  it('finds devices by host name, fingerprint, MAC address and property, and not by an ambiguous one', async () => {
    const { token } = await hub.token(owner, projectId)
    await using device = await connectDevice({ url: hub.url, token })
    const { deviceId } = device
    await device.invoke('devices_SetProperty', {
      deviceId,
      name: 'dev.nexigon.system.info',
      value: {
        hostname: 'Crane-GW',
        networks: [{ name: 'eth0', macAddress: '00:1A:2b:3c:4d:5e', ipAddresses: ['10.0.0.7/24'] }],
      },
    })
    await device.invoke('devices_SetProperty', {
      deviceId,
      name: 'app.unit',
      value: { serial: 'S-17', no: 4 },
    })
    const { fingerprint_id: fingerprintId } = await hub.db
      .selectFrom('device')
      .where('device_id', '=', deviceId)
      .select('fingerprint_id')
      .executeTakeFirstOrThrow()
    const twin = await deviceRow(hub, projectId, { hostname: 'twin' })
    const other = await deviceRow(hub, projectId, { hostname: 'TWIN' })
    const columns = ['label.site']
    const finds = async (by: string, key: string, property?: string) => {
      const made = await imported([[key, key]], { by, columns, ...(property && { property }) })
      return made.first[0]?.deviceId ?? made.problems![0]!
    }
    expect(await finds('hostname', 'crane-gw')).toBe(deviceId)
    expect(await finds('fingerprintId', fingerprintId)).toBe(deviceId)
    expect(await finds('mac', '00-1a-2B-3C-4D-5E')).toBe(deviceId)
    expect(await finds('property', 'S-17', 'app.unit.serial')).toBe(deviceId)
    expect(await finds('property', '4', 'app.unit.no')).toBe(deviceId)
    expect(await finds('mac', 'no mac')).toMatchObject({ problem: 'NotFound' })
    expect(await finds('property', 'S-18', 'app.unit.serial')).toMatchObject({ problem: 'NotFound' })
    const ambiguous = await finds('hostname', 'twin')
    expect(ambiguous).toMatchObject({ problem: 'Ambiguous', rowCount: 1 })
    expect(JSON.stringify(ambiguous)).toContain(twin)
    expect(JSON.stringify(ambiguous)).toContain(other)
  })

  it('takes rows in portions, in order, until it is started', async () => {
    const ids = await devices(3)
    const { bulkActionId } = await owner.invoke('devices_CreateBulkImport', {
      projectId,
      by: 'id',
      columns: ['label.site'],
    })
    const add = (deviceId: string, row: number) =>
      owner.invoke('devices_AddBulkImportRows', {
        projectId,
        bulkActionId,
        rows: [{ row, key: deviceId, values: ['pier4'] }],
      })
    await Promise.all(ids.map((id, at) => add(id, at + 2)))
    expect(await add(ids[0]!, 5)).toEqual({ rowCount: 4 })
    const short = owner.invoke('devices_AddBulkImportRows', {
      projectId,
      bulkActionId,
      rows: [{ row: 9, key: ids[0]!, values: [] }],
    })
    expect(await failed(short)).toMatchObject({ kind: 'Invalid', message: expect.stringContaining('row 9') })
    const made = await owner.invoke('devices_GetBulkPreview', { projectId, bulkActionId })
    expect(made).toMatchObject({ changeCount: 3, problems: [{ problem: 'Doubled', rowCount: 1 }] })
    await hub.pool.query('update bulk_action set row_count = 100000 where bulk_action_id = $1', [
      bulkActionId,
    ])
    expect(await failed(add(ids[0]!, 7))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('100000'),
    })
    await start(bulkActionId)
    expect(await failed(add(ids[0]!, 8))).toMatchObject({ kind: 'Invalid', status: 409 })
    expect(await stateOf(bulkActionId)).toMatchObject({ succeededCount: 3 })
  })

  it('refuses a form with a wrong column, a doubled one, or a property that does not fit', async () => {
    const form = (input: object) =>
      failed(
        owner.invoke('devices_CreateBulkImport', {
          projectId,
          by: 'id',
          columns: ['name'],
          ...input,
        } as never),
      )
    for (const input of [
      { columns: ['name', 'name'] },
      { columns: ['label.Site'] },
      { columns: ['label.__proto__'] },
      { columns: ['hostname'] },
      { columns: [] },
      { by: 'property' },
      { by: 'id', property: 'a.b' },
      { by: 'serial' },
    ])
      expect(await form(input)).toMatchObject({ kind: 'Invalid' })
  })
})
