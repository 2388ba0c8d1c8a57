import { type TestHub, type TestUser, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

/** One device more than `MAX_MARKED_DEVICES`. The hub caches the counts of such a large project for 2 s. */
const DEVICES = 201
const STEP_MS = 600_000

let hub: TestHub
let owner: TestUser
let projectId: string
let organizationId: string
let smallId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId, 'Large')
  await addDevices(projectId, DEVICES)
  smallId = await hub.project(owner, organizationId, 'Small')
  await addDevices(smallId, 5)
})
afterAll(() => hub[Symbol.asyncDispose]())

async function addDevices(project: string, count: number): Promise<void> {
  await hub.pool.query(
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, is_connected, health)
     select 'd_' || left(translate(md5(i || $1), '0', 'z'), 22), $1, 'd_pk_' || i || $1, convert_to('x' || i, 'UTF8'), i > 10,
            case i when 11 then 'error' end
       from generate_series(1, $2) i`,
    [project, count],
  )
}

const summary = (input: object = {}) => owner.invoke('projects_GetSummary', { projectId, ...input })
const sample = async () =>
  expect(await hub.runJob('projects_SampleConnected', {})).toMatchObject({ status: 'Completed' })
const connect = (isConnected: boolean) =>
  hub.pool.query(
    `update device set is_connected = $2 where project_id = $1 and fingerprint_hash = convert_to('x1', 'UTF8')`,
    [projectId, isConnected],
  )
/** Moves the times of the cached counts, or of the stored samples of the connected devices, into the past. `set` has SQL assignments. */
const age = (set: string) =>
  hub.pool.query(`update project_status set ${set} where project_id = $1`, [projectId])

it('keeps the counts of a project with many devices for 2 s', async () => {
  const counted = await summary()
  expect(counted).toMatchObject({ deviceCount: 201, connectedCount: 191, errorCount: 1, healthyCount: 190 })
  expect(counted.isKept).toBeUndefined()
  await connect(true)
  const kept = await summary()
  expect(kept).toMatchObject({ connectedCount: 191, isKept: true })
  expect(kept.bins).toEqual(counted.bins)
  expect((await summary({ maxBins: 3 })).bins).toHaveLength(3)
  await age(`counted_at = counted_at - interval '2 s'`)
  expect((await summary()).connectedCount).toBe(192)
})

it('samples the connected devices once in 10 minutes, with nulls where nothing was counted', async () => {
  await until('the next step is not near', () => STEP_MS - (Date.now() % STEP_MS) > 15_000)
  expect((await summary({ series: true })).connectedSeries).toBeUndefined()
  await sample()
  await connect(false)
  await sample()
  const first = await summary({ series: true })
  expect(first.bins).toEqual([])
  expect(first.connectedSeries).toMatchObject({ stepSecs: 600, counts: [192] })
  const atMs = Date.parse(first.connectedSeries!.from)
  expect(Date.now() - atMs).toBeLessThan(2 * STEP_MS)

  await age('sampled_step = sampled_step - 3')
  const before = await summary({ series: true })
  expect(before.connectedSeries!.counts).toEqual([192, null, null, null])
  await sample()
  expect((await summary({ series: true })).connectedSeries!.counts).toEqual([192, null, null, 191])

  await age('sampled_step = sampled_step - 1, connected_counts = array_fill(7, array[144])')
  await sample()
  const { counts, from } = (await summary({ series: true })).connectedSeries!
  expect(counts).toEqual([...Array.from({ length: 143 }, () => 7), 191])
  expect(Math.round((atMs - Date.parse(from)) / STEP_MS)).toBeGreaterThanOrEqual(143)

  await age('sampled_step = sampled_step - 500')
  expect((await summary({ series: true })).connectedSeries).toBeUndefined()
})

it('answers the samples of projects with few devices too, beside their bins', async () => {
  await sample()
  const { bins, connectedSeries } = await owner.invoke('projects_GetSummary', {
    projectId: smallId as never,
    series: true,
  })
  expect(bins).toHaveLength(5)
  expect(connectedSeries).toMatchObject({ stepSecs: 600, counts: [0] })
})

it('lists projects with problems first, by state, and with the totals of all', async () => {
  const calmId = await hub.project(owner, organizationId, 'A calm one')
  const query = (input: object) =>
    owner.invoke('organizations_QueryProjects', { organizationId: organizationId as never, ...input })
  const names = async (input: object) => (await query(input)).projects.map(({ name }) => name)
  // A call of `projects_GetSummary` also stores its counts, by which the list is sorted. Otherwise only the sampling job stores them.
  await owner.invoke('projects_GetSummary', { projectId: smallId as never })
  await hub.pool.query(`update device set health = 'degraded', is_connected = true where project_id = $1`, [
    smallId,
  ])
  expect(await names({ sort: 'problems' })).toEqual(['Large', 'A calm one', 'Small'])
  await owner.invoke('projects_GetSummary', { projectId: smallId as never })
  expect(await names({ sort: 'problems' })).toEqual(['Large', 'Small', 'A calm one'])
  await hub.pool.query(
    `insert into device_update (device_id, property_version, state, target_version, error)
     select device_id, 1, 'failed', '2.23.0', 'no space left on device' from device where project_id = $1`,
    [smallId],
  )
  await hub.pool.query(
    `update device_update set state = 'completed', failure_count = 2
      where device_id = (select min(device_id) from device where project_id = $1)`,
    [smallId],
  )
  await hub.pool.query('update project_status set sampled_step = sampled_step - 1')
  await sample()
  expect(await names({ sort: 'problems' })).toEqual(['Small', 'Large', 'A calm one'])
  expect((await owner.invoke('projects_GetSummary', { projectId: smallId as never })).updateFailure).toEqual({
    targetVersion: '2.23.0',
    error: 'no space left on device',
    deviceCount: 4,
  })
  expect(await names({ sort: '-devices' })).toEqual(['Large', 'Small', 'A calm one'])
  expect(await names({ filter: { state: 'warning' } })).toEqual(['Small'])
  expect(await names({ filter: { state: 'error' } })).toEqual(['Large'])
  expect(await names({ filter: { state: 'pending' } })).toEqual([])
  expect((await query({ totals: true })).totals).toMatchObject({
    deviceCount: DEVICES + 5,
    warningCount: 5,
    warningProjects: 1,
    errorCount: 1,
    errorProjects: 1,
    pendingCount: 0,
  })
  expect((await query({})).totals).toBeUndefined()
  await owner.invoke('projects_Delete', { projectId: calmId as never })
})

it('C20: counts the most frequent update failure anew, and says when it is that of the last sample', async () => {
  const fail = (id: string, count: number) =>
    hub.pool.query(
      `insert into device_update (device_id, property_version, state, target_version, error)
       select device_id, 1, 'failed', '2.24.0', 'no space left on device' from device where project_id = $1 limit $2
       on conflict (device_id) do update set property_version = 1, state = 'failed', target_version = '2.24.0',
         error = 'no space left on device'`,
      [id, count],
    )
  const failure = { targetVersion: '2.24.0', error: 'no space left on device' }
  const failureOf = async (id: string) =>
    (await owner.invoke('projects_GetSummary', { projectId: id as never })).updateFailure
  const listed = async (id: string) =>
    (
      await owner.invoke('projects_QueryDevices', {
        projectId: id as never,
        limit: 1,
        filter: { updateFailure: failure },
      })
    ).total
  await fail(projectId, 5)
  await hub.pool.query('update project_status set sampled_step = sampled_step - 1')
  await sample()
  // Two more devices fail after the sample.
  await fail(projectId, 7)
  await expect.poll(() => failureOf(projectId)).toEqual({ ...failure, deviceCount: 7 })
  expect(await listed(projectId)).toBe(7)
  await fail(smallId, 3)
  expect(await failureOf(smallId)).toMatchObject({ deviceCount: await listed(smallId) })

  // While the table is locked, the count takes too long, and the stored one is answered with its time.
  await using session = await lockedTable('device_update')
  await expect.poll(async () => (await failureOf(projectId))?.countedAt).toMatch(/^\d{4}-/)
  expect(await failureOf(projectId)).toMatchObject({ ...failure, deviceCount: 5 })
  await session.release()
  await expect.poll(() => failureOf(projectId)).toEqual({ ...failure, deviceCount: 7 })
})

/** Locks a table in a session of its own. */
async function lockedTable(table: string) {
  const client = await hub.pool.connect()
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  let isLocked = true
  const release = async () => {
    if (!isLocked) return
    isLocked = false
    await client.query('rollback')
    client.release()
  }
  return { release, [Symbol.asyncDispose]: release }
}
