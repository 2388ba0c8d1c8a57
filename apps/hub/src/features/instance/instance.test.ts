import { newId } from '@muster/actions'
import {
  auditEvents,
  databaseSession,
  deviceRow,
  failed as failure,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { InProcessBus } from '../../platform/bus/in-process-bus.ts'
import { startNodeReports } from '../../platform/cluster/node-facts.ts'
import { createLog } from '../../platform/runtime/log.ts'

const LONG_AGO_SECS = 60 * 60

/** Kind of the test jobs. Tests filter by this kind, because the hub runs jobs of other kinds soon after its start. */
const JOB = 'users_SendPasswordEmail'

let hub: TestHub

beforeAll(async () => {
  hub = await testHub()
})

afterAll(() => hub[Symbol.asyncDispose]())

/**
 * Replaces the rows in the job table of pg-boss. Their times are one second apart, and the last row is the newest. Returns their job
 * ids.
 */
async function jobRows(hub: TestHub, rows: Record<string, unknown>[]): Promise<string[]> {
  await hub.pool.query('delete from pgboss.job')
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

it('maps the states of pg-boss to the statuses of the specification', async () => {
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
    startedAt: at(0).toISOString(),
    durationMs: 60_000,
    finishedAt: at(60).toISOString(),
    isRepeatable: true,
  })
  const byProblems = await admin.invoke('jobs_Query', {
    filter: { job: JOB },
    sort: '-problems',
    limit: 10,
  })
  expect(byProblems.jobs.map(({ jobId }) => jobId)).toEqual([6, 5, 2, 1, 0, 4, 3].map(index => ids[index]))
  const filtered = await admin.invoke('jobs_Query', {
    filter: { job: JOB, statuses: ['Failed', 'Cancelled'] },
  })
  expect(filtered.jobs.map(({ jobId }) => jobId)).toEqual([ids[5], ids[4]])
  const job = 'users_SendRegistrationEmail'
  expect(await admin.invoke('jobs_Query', { filter: { job } })).toEqual({ jobs: [] })
})

it('gives the last error of a job, the time of its next attempt and its duration', async () => {
  const admin = await hub.user({ isAdmin: true })
  const later = new Date(Date.now() + 60_000)
  await jobRows(hub, [
    {
      ...FINAL,
      state: 'failed',
      started_on: at(0),
      completed_on: at(5),
      output: { message: '550 no such mailbox' },
    },
    {
      ...FINAL,
      state: 'failed',
      started_on: at(0),
      completed_on: at(60),
      output: { value: { message: 'job timed out' } },
    },
    {
      ...FINAL,
      state: 'failed',
      started_on: at(0),
      completed_on: at(1),
      output: { value: 'pg-boss shut down while active' },
    },
    { state: 'retry', started_on: at(0), start_after: later, output: { message: 'x'.repeat(5000) } },
    {
      state: 'completed',
      started_on: at(0),
      completed_on: at(2),
      output: { message: 'of an attempt before' },
    },
  ])
  const { jobs } = await admin.invoke('jobs_Query', { filter: { job: JOB } })
  expect(jobs.reverse()).toMatchObject([
    { lastError: '550 no such mailbox', durationMs: 5000 },
    { lastError: 'job timed out', durationMs: 60_000 },
    { lastError: 'pg-boss shut down while active', durationMs: 1000 },
    { lastError: 'x'.repeat(1000), nextAttemptAt: later.toISOString() },
    { durationMs: 2000 },
  ])
  expect(jobs[3]).not.toHaveProperty('durationMs')
  expect(jobs[4]).not.toHaveProperty('lastError')
  const within = await admin.invoke('jobs_Query', { filter: { job: JOB, withinSecs: 60 } })
  expect(within.jobs).toEqual([])
  const until = new Date(jobs[2]!.createdAt).toISOString()
  const before = await admin.invoke('jobs_Query', { filter: { job: JOB, until } })
  expect(before.jobs.every(({ createdAt }) => createdAt < until)).toBe(true)
  const since = await admin.invoke('jobs_Query', { filter: { job: JOB, since: until } })
  expect(since.jobs.length).toBeGreaterThan(0)
  expect(since.jobs.length + before.jobs.length).toBe(jobs.length)
})

it('counts the jobs of 24 hours by status, and summarizes each kind', async () => {
  const admin = await hub.user({ isAdmin: true })
  const failed = { ...FINAL, state: 'failed', started_on: at(0) }
  const ids = await jobRows(hub, [
    { state: 'completed', started_on: at(0), completed_on: at(2) },
    { ...failed, completed_on: at(10), output: { message: 'first' } },
    { ...failed, completed_on: at(20), output: { message: 'second' } },
    {
      state: 'completed',
      started_on: at(0),
      completed_on: at(4),
      created_on: new Date(Date.now() - 25 * 3_600_000),
    },
    {
      state: 'completed',
      started_on: at(0),
      completed_on: at(4),
      created_on: new Date(Date.now() - 72 * 3_600_000),
    },
  ])
  const after = await admin.invoke('jobs_GetSummary', {})
  expect(after.counts.Failed).toBe(2)
  expect(after).toMatchObject({ isCut: false })
  expect(after.kinds.find(({ job }) => job === JOB)).toEqual({
    job: JOB,
    isRepeatable: true,
    runs: [
      { status: 'Completed', durationMs: 4000 },
      { status: 'Completed', durationMs: 2000 },
      { status: 'Failed', durationMs: 10_000 },
      { status: 'Failed', durationMs: 20_000 },
    ],
    failedCount: 2,
    usualMs: 4000,
    failing: { since: at(10).toISOString(), count: 2, lastJobId: ids[2], lastError: 'second' },
    lastCompletedAt: at(2).toISOString(),
  })
  const daily = after.kinds.find(({ job }) => job === 'audit_VerifySeals')!
  expect(daily).toMatchObject({ everySecs: 86_400, isRepeatable: true })
  expect(Date.parse(daily.nextRunAt!)).toBeGreaterThan(Date.now())
})

describe('jobs_Retry', () => {
  it('queues one more attempt of a failed job, once', async () => {
    const admin = await hub.user({ isAdmin: true })
    const [jobId] = await jobRows(hub, [
      // A job that failed for good before its attempts were used up. Its mailed token does not exist, so the retry completes without a
      // mail.
      {
        ...FINAL,
        retry_count: 1,
        state: 'failed',
        started_on: at(0),
        completed_on: at(5),
        output: { message: 'no' },
        data: { jobId: 'job_20261121-1200-12345671', jwtId: 'gone' },
      },
    ])
    await using session = await databaseSession(hub)
    // The lock blocks the retried job, so the job does not complete before all three calls are answered.
    await session.lock('mailed_token')
    const results = await Promise.all([1, 2, 3].map(() => admin.invoke('jobs_Retry', { jobId: jobId! })))
    await session.release()
    expect(results.map(({ result }) => result).sort()).toEqual(['AlreadyPending', 'AlreadyPending', 'Queued'])
    const job = await until('the attempt ends', async () => {
      const { jobs } = await admin.invoke('jobs_Query', { filter: { job: JOB } })
      return jobs[0]?.status !== 'Pending' && jobs[0]
    })
    expect(job).toMatchObject({ jobId, status: 'Completed', attempts: 3 })
    expect(await auditEvents(hub, 'jobs_Retried')).toMatchObject([{ data: { jobId, job: JOB } }])
  })

  it('refuses jobs that are absent or have not failed, and kinds that are not repeatable', async () => {
    const admin = await hub.user({ isAdmin: true })
    const failed = { ...FINAL, state: 'failed', started_on: at(0), completed_on: at(5) }
    const [completed, cancelled, once] = await jobRows(hub, [
      { state: 'completed', started_on: at(0), completed_on: at(5) },
      { state: 'cancelled', completed_on: at(5) },
      { ...failed, name: 'users_SendPasswordChangedEmail' },
    ])
    const before = await auditEvents(hub, 'jobs_Retried')
    const refusal = (jobId: string) => failure(admin.invoke('jobs_Retry', { jobId }))
    expect(await refusal('job_20200101-0000-abcdefgh')).toMatchObject({ kind: 'Invalid', status: 404 })
    for (const jobId of [completed!, cancelled!])
      expect(await refusal(jobId)).toMatchObject({
        kind: 'Invalid',
        message: expect.stringMatching(/^The job is (completed|cancelled)\. Only a failed or expired job/),
      })
    expect(await refusal(once!)).toMatchObject({ message: expect.stringMatching(/cannot be retried\.$/) })
    expect(await auditEvents(hub, 'jobs_Retried')).toEqual(before)
  })
})

it('pages through jobs in both directions', async () => {
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

it('lists the projects of all organizations, those with most devices first', async () => {
  await using hub = await testHub()
  const admin = await hub.user({ isAdmin: true })
  const { owner, organizationId, projectId } = await hub.fleet()
  const small = await hub.project(owner, organizationId, 'Small')
  for (let n = 0; n < 3; n++) await deviceRow(hub, projectId)
  await deviceRow(hub, small)
  await hub.pool.query(
    'insert into project_stored_bytes (project_id, bytes, measured_at) values ($1, 1000, now())',
    [small],
  )
  const all = await admin.invoke('instance_QueryProjects', {})
  expect(all.projects.slice(0, 2)).toMatchObject([
    { projectId, organizationId, deviceCount: 3 },
    { projectId: small, name: 'Small', deviceCount: 1, storedBytes: 1000 },
  ])
  const first = await admin.invoke('instance_QueryProjects', { sort: '-stored', limit: 1 })
  expect(first.projects[0]).toMatchObject({ projectId: small })
  const rest = await admin.invoke('instance_QueryProjects', {
    sort: '-stored',
    limit: 500,
    cursor: first.nextCursor,
  })
  expect(rest.projects).toHaveLength(all.projects.length - 1)
  const found = await admin.invoke('instance_QueryProjects', { filter: { text: 'smal' } })
  expect(found.projects.map(({ name }) => name)).toEqual(['Small'])
})

describe('instance_GetHealth', () => {
  it('reports nodes, database, events and seals, and no problem of a good hub', async () => {
    await using hub = await testHub({ nodeName: 'harbour-1' })
    const admin = await hub.user({ isAdmin: true })
    await hub.runJob('instance_SampleSize', {})
    const health = await admin.invoke('instance_GetHealth', {})
    expect(health.problems.filter(({ kind }) => kind !== 'DiskFilling')).toEqual([])
    expect(health.nodes.value).toMatchObject([
      {
        nodeId: hub.nodeId,
        name: 'harbour-1',
        facts: {
          version: expect.stringMatching(/^\d+\.\d+\.\d+/),
          connections: 0,
          disk: { freeBytes: expect.any(Number), totalBytes: expect.any(Number) },
          certificatesFailure: expect.stringContaining('serves no TLS itself'),
        },
      },
    ])
    const { value: database } = health.database
    expect(database!.sizeBytes).toBeGreaterThan(1_000_000)
    expect(database!.parts.map(({ name }) => name).sort()).toEqual(['Audit', 'Events', 'History'])
    expect(database!.days).toHaveLength(1)
    expect(database).not.toHaveProperty('growthBytesPerDay')
    expect(health.events.value!.bins).toHaveLength(96)
    expect(health.events.value).not.toHaveProperty('recordedSince')
    expect(health.people.value).toMatchObject({ administrators: expect.any(Number) })
    expect(health.jobs.value).toMatchObject({ failedCount: 0 })
    expect(health.seals).toHaveProperty('value')
  })

  it('puts urgent problems first', async () => {
    await using hub = await testHub()
    const admin = await hub.user({ isAdmin: true })
    const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString()
    await jobRows(hub, [
      {
        ...FINAL,
        state: 'failed',
        started_on: at(0),
        completed_on: new Date(),
        output: { message: '550 no' },
      },
    ])
    await hub.db
      .insertInto('cluster_node')
      .values([
        {
          node_id: newId('cluster_node'),
          name: 'other node',
          joined_at: new Date(Date.now() - 7_200_000),
          facts: JSON.stringify({
            version: '0.0.1',
            connections: 3,
            eventsPerSec: 2,
            disk: { freeBytes: 3, totalBytes: 100 },
            certificates: [{ names: ['hub.example'], endsAt: inDays(9.5) }],
            bus: { kind: 'NATS', awaySince: inDays(-1), failure: 'connection refused' },
            retiredSettings: ['MUSTER_MAX_DESCRIPTORS'],
          }),
        },
        { node_id: newId('cluster_node'), name: 'dead node', left_at: new Date(), evicted_at: new Date() },
      ])
      .execute()
    await hub.pool.query(
      `insert into instance_setting (key, value) values ('audit.verification', $1)
       on conflict (key) do update set value = excluded.value`,
      [
        JSON.stringify({
          verifiedAt: inDays(0),
          seal: 3,
          hash: 'x',
          problem: 'seal 4 does not match its rows',
        }),
      ],
    )
    await hub.pool.query(`update cluster_node set joined_at = now() - interval '2 h' where node_id = $1`, [
      hub.nodeId,
    ])
    const { problems, events } = await admin.invoke('instance_GetHealth', {})
    const own = problems.filter(
      problem => problem.kind !== 'DiskFilling' || problem.nodeName === 'other node',
    )
    expect(own).toMatchObject([
      { kind: 'JobFailing', level: 'bad', job: JOB, count: 1, lastError: '550 no' },
      { kind: 'SealBroken', level: 'bad', problem: 'seal 4 does not match its rows' },
      { kind: 'NodeSilent', level: 'bad', nodeName: 'dead node' },
      { kind: 'DiskFilling', level: 'bad', nodeName: 'other node' },
      { kind: 'BusAway', level: 'warn', nodeName: 'other node', bus: 'NATS', failure: 'connection refused' },
      { kind: 'VersionsDiffer', level: 'warn', versions: expect.arrayContaining(['0.0.1']) },
      { kind: 'CertificateEnding', level: 'warn', name: 'hub.example' },
      {
        kind: 'SettingsRetired',
        level: 'warn',
        nodeName: 'other node',
        settings: ['MUSTER_MAX_DESCRIPTORS'],
      },
    ])
    expect(events.value!.perSec).toBeGreaterThanOrEqual(2)
  })

  it('O16, C31: lists a backup that was never made and one that is old, but not in the first hour', async () => {
    await using hub = await testHub()
    const admin = await hub.user({ isAdmin: true })
    const found = async () =>
      (await admin.invoke('instance_GetHealth', {})).problems.filter(({ kind }) => kind === 'BackupMissing')
    expect(await found()).toEqual([])
    await hub.pool.query(`update migration set applied_at = now() - interval '61 minutes'`)
    expect(await found()).toEqual([{ kind: 'BackupMissing', level: 'warn' }])
    const storeBackup = (takenAt: string) =>
      hub.pool.query(
        `insert into instance_setting (key, value) values ('last-backup', $1)
         on conflict (key) do update set value = excluded.value`,
        [{ takenAt, sizeBytes: 1, durationSecs: 1, isVerified: true, hasBlobs: true, hasKey: false }],
      )
    const takenAt = new Date(Date.now() - 49 * 3_600_000).toISOString()
    await storeBackup(takenAt)
    expect(await found()).toEqual([{ kind: 'BackupMissing', level: 'warn', takenAt }])
    await storeBackup(new Date().toISOString())
    expect(await found()).toEqual([])
  })

  it('tells the growth of the database from its daily sizes', async () => {
    const admin = await hub.user({ isAdmin: true })
    await hub.pool.query('delete from database_size')
    await hub.pool.query(
      `insert into database_size (sampled_on, size_bytes)
       select current_date - n, 1000000000 - n * 1000 from generate_series(1, 40) n`,
    )
    const { database } = await admin.invoke('instance_GetHealth', {})
    expect(database.value!.growthBytesPerDay).toBe(1000)
    expect(database.value!.days).toHaveLength(29)
  })

  it('adds the stored events of a node to its quarter of an hour', async () => {
    await using hub = await testHub()
    let eventCount = 0
    await using _reports = await startNodeReports({
      db: hub.db,
      nodeId: hub.nodeId,
      log: createLog('silent'),
      folders: ['/does/not/exist'],
      tls: undefined,
      eventCount: () => eventCount,
      connections: () => 5,
      bus: new InProcessBus({ nodeId: hub.nodeId, log: createLog('silent') }),
      reportMs: 20,
    })
    eventCount = 30
    const admin = await hub.user({ isAdmin: true })
    const health = await until('the events are reported', async () => {
      const answer = await admin.invoke('instance_GetHealth', {})
      return answer.events.value?.dayCount === 30 && answer
    })
    expect(health.nodes.value![0]!.facts).toMatchObject({
      connections: 5,
      diskFailure: expect.stringMatching(/^The disk could not be read: /),
    })
  })
})

it('refuses callers who are not administrators of the instance', async () => {
  const { owner } = await hub.fleet()
  for (const action of [
    'instance_GetStatistics',
    'instance_GetHealth',
    'instance_QueryProjects',
    'cluster_GetDetails',
    'jobs_Query',
    'jobs_GetSummary',
  ] as const)
    await expect(owner.invoke(action, {})).rejects.toMatchObject({ kind: 'Forbidden' })
})
