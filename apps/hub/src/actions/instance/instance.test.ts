import { newId } from '@muster/actions'
import { deviceRow, type TestHub, testHub } from '@muster/testkit'
import { sql } from 'kysely'
import { expect, it, vi } from 'vitest'

const LONG_AGO_SECS = 60 * 60

/** Kind of the test jobs. Tests filter by this kind, because the hub runs jobs of other kinds soon after its start. */
const JOB = 'users_SendPasswordEmail'

/**
 * Inserts rows into the job table of pg-boss. Their times are one second apart, and the last row is the newest. Returns their job
 * ids.
 */
async function jobRows(hub: TestHub, rows: Record<string, unknown>[]): Promise<string[]> {
  const ids: string[] = []
  for (const [index, row] of rows.entries()) {
    const jobId = `job_20261121-1200-1234567${index + 1}`
    const columns = {
      name: JOB,
      data: { jobId },
      created_on: new Date(Date.now() - (LONG_AGO_SECS - index) * 1000),
      ...row,
    }
    const keys = Object.keys(columns)
    await hub.pool.query(
      `insert into pgboss.job (${keys.join(', ')}) values (${keys.map((_, n) => `$${n + 1}`).join(', ')})`,
      Object.values(columns),
    )
    ids.push(jobId)
  }
  return ids
}

const FINAL = { retry_limit: 2, retry_count: 2, retry_delay: 30, expire_seconds: 60 }
const at = (secs: number): Date => new Date(Date.UTC(2026, 10, 21, 12, 0, secs))

it('counts accounts, projects and devices', async () => {
  await using hub = await testHub()
  const admin = await hub.user({ isAdmin: true })
  const before = await admin.invoke('instance_GetStatistics', {})
  const { owner, organizationId, projectId } = await hub.fleet()
  await hub.project(owner, organizationId)
  for (let n = 0; n < 3; n++) await deviceRow(hub, projectId)
  expect(await admin.invoke('instance_GetStatistics', {})).toEqual({
    users: before.users + 1,
    projects: before.projects + 2,
    devices: before.devices + 3,
  })
})

it('I2: lists running nodes, without those that left or whose heartbeat is stale', async () => {
  await using hub = await testHub({ nodeName: 'first node' })
  const admin = await hub.user({ isAdmin: true })
  const ago = (secs: number): Date => new Date(Date.now() - secs * 1000)
  const other = newId('cluster_node')
  await hub.db
    .insertInto('cluster_node')
    .values([
      { node_id: other, name: 'other node', joined_at: ago(90) },
      { node_id: newId('cluster_node'), name: 'gone', left_at: new Date() },
      { node_id: newId('cluster_node'), name: 'silent', last_heartbeat: ago(25) },
    ])
    .execute()
  const { nodes } = await admin.invoke('cluster_GetDetails', {})
  expect(nodes.map(({ nodeId, name }) => ({ nodeId, name }))).toEqual([
    { nodeId: other, name: 'other node' },
    { nodeId: hub.nodeId, name: 'first node' },
  ])
  // Nexigon clients of April 2026 fail without `status`.
  expect(nodes.map(({ status }) => status)).toEqual(['Active', 'Active'])
  expect(nodes[0]!.uptimeSecs).toBeGreaterThanOrEqual(90)
  expect(nodes[0]!.uptimeSecs).toBeLessThan(120)
})

it('O9: computes the uptime of nodes by the clock of the database', async () => {
  await using hub = await testHub()
  const admin = await hub.user({ isAdmin: true })
  for (const skewMs of [-600_000, 600_000]) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs })
    try {
      const { nodes } = await admin.invoke('cluster_GetDetails', {})
      expect(nodes).toHaveLength(1)
      expect(nodes[0]!.uptimeSecs).toBeLessThan(60)
    } finally {
      vi.useRealTimers()
    }
  }
  await hub.db
    .updateTable('cluster_node')
    .set({ joined_at: sql<Date>`now() - interval '90 seconds'` })
    .execute()
  const { nodes } = await admin.invoke('cluster_GetDetails', {})
  expect(nodes[0]!.uptimeSecs).toBeGreaterThanOrEqual(90)
})

it('maps the states of pg-boss to the statuses of the product page', async () => {
  await using hub = await testHub()
  const admin = await hub.user({ isAdmin: true })
  // `start_after` keeps the hub from running the waiting jobs during the test.
  const later = { start_after: new Date(Date.now() + 60_000) }
  const ids = await jobRows(hub, [
    { state: 'created', ...later },
    { state: 'retry', retry_count: 0, started_on: at(0), ...later },
    { state: 'active', started_on: new Date(), expire_seconds: 600 },
    { state: 'completed', started_on: at(0), completed_on: at(5), retry_count: 0 },
    { state: 'cancelled', completed_on: at(5) },
    { ...FINAL, state: 'failed', started_on: at(0), completed_on: at(5) },
    { ...FINAL, state: 'failed', started_on: at(0), completed_on: at(60) },
  ])
  const { jobs } = await admin.invoke('jobs_Query', { filter: { job: JOB } })
  const shown = jobs.map(({ jobId, status, queued, attempts }) => [jobId, status, queued, attempts])
  expect(shown.reverse()).toEqual([
    [ids[0], 'Pending', true, 0],
    [ids[1], 'Pending', true, 1],
    [ids[2], 'Pending', false, 1],
    [ids[3], 'Completed', false, 1],
    [ids[4], 'Cancelled', false, 0],
    [ids[5], 'Failed', false, 3],
    [ids[6], 'Expired', false, 3],
  ])
  expect(jobs[0]).toEqual({
    jobId: ids[6],
    status: 'Expired',
    job: JOB,
    queued: false,
    attempts: 3,
    retryLimit: 2,
    retryDelay: 30,
    timeout: 60,
    createdAt: expect.any(String),
    finishedAt: at(60).toISOString(),
  })
  const filtered = await admin.invoke('jobs_Query', {
    filter: { job: JOB, statuses: ['Failed', 'Cancelled'] },
  })
  expect(filtered.jobs.map(({ jobId }) => jobId)).toEqual([ids[5], ids[4]])
  const job = 'users_SendRegistrationEmail'
  expect(await admin.invoke('jobs_Query', { filter: { job } })).toEqual({ jobs: [] })
})

it('pages through jobs in both directions', async () => {
  await using hub = await testHub()
  const admin = await hub.user({ isAdmin: true })
  const created_on = at(0)
  const ids = await jobRows(
    hub,
    Array.from({ length: 7 }, () => ({
      state: 'completed',
      started_on: at(0),
      completed_on: at(1),
      created_on,
    })),
  )
  for (const sort of ['createdAt', '-createdAt'] as const) {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await admin.invoke('jobs_Query', {
        filter: { job: JOB },
        sort,
        limit: 3,
        ...(cursor && { cursor }),
      })
      expect(page.total).toBe(cursor ? undefined : 7)
      seen.push(...page.jobs.map(({ jobId }) => jobId))
      cursor = page.nextCursor
    } while (cursor)
    expect(seen.toSorted()).toEqual(ids.toSorted())
  }
})

it('returns the newest 1,000 jobs from an index for a call without `limit`', async () => {
  await using hub = await testHub()
  const admin = await hub.user({ isAdmin: true })
  await hub.pool.query(`
    insert into pgboss.job (name, data, state, started_on, completed_on, created_on)
    select 'audit_SealRows', jsonb_build_object('jobId', 'job_20261121-1200-12345678'), 'completed', now(), now(),
           now() - n * interval '1 minute'
      from generate_series(1, 20000) n`)
  await hub.pool.query('analyze pgboss.job_common')
  const { jobs } = await admin.invoke('jobs_Query', {})
  expect(jobs).toHaveLength(1000)
  const { rows } = await hub.pool.query(
    'explain select * from pgboss.job j order by created_on desc, id desc limit 1000',
  )
  expect(JSON.stringify(rows)).toContain('job_common_latest')
})

it('refuses callers who are not administrators of the instance', async () => {
  await using hub = await testHub()
  const { owner } = await hub.fleet()
  for (const action of ['instance_GetStatistics', 'cluster_GetDetails', 'jobs_Query'] as const)
    await expect(owner.invoke(action, {})).rejects.toMatchObject({ kind: 'Forbidden' })
})
