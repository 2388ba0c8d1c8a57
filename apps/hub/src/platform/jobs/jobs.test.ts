import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { newId } from '@muster/actions'
import {
  auditEvents,
  capturedLog,
  databaseSession,
  deviceRow,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { expect, it } from 'vitest'
import { maintainPartitions } from '../../features/instance/jobs/MaintainPartitions.ts'
import { createLog, type Logger } from '../runtime/log.ts'
import type { JobName } from './jobs.ts'
import type { JobKind } from './kinds.ts'
import { type JobQueue, openQueue, PermanentFailure, type RunningJob } from './queue.ts'

const QUICK: JobKind = { timeoutSecs: 60, retryLimit: 0, retryDelaySecs: 1, isRepeatable: false }

type Work = (name: string, data: object, job: RunningJob) => Promise<void>

/** Opens a queue on the database of a hub, as another node would, with job kinds that the test defines. */
async function queueOn(
  hub: TestHub,
  kinds: Record<string, JobKind>,
  work?: Work,
  { log = createLog('silent'), drainTimeoutMs = 500 }: { log?: Logger; drainTimeoutMs?: number } = {},
): Promise<JobQueue> {
  for (const name of Object.keys(kinds))
    await hub.pool.query(`select pgboss.create_queue($1, '{"policy":"standard"}')`, [name])
  const queue = await openQueue({
    pool: hub.pool,
    log,
    drainTimeoutMs,
    kinds,
    upkeepSecs: 1,
  })
  if (work) await queue.work(work)
  return queue
}

function enqueue(hub: TestHub, queue: JobQueue, name: string, data: object = {}): Promise<string> {
  return hub.db.transaction().execute(tx => queue.enqueue(tx, name as JobName, data as never))
}

async function jobOf(hub: TestHub, jobId: string) {
  const { jobs } = await hub.pipeline.run({ actor: 'System' }, 'jobs_Query', {})
  return jobs.find(job => job.jobId === jobId)!
}

function ended(hub: TestHub, jobId: string) {
  return until('the job ends', async () => {
    const job = await jobOf(hub, jobId)
    return job.status !== 'Pending' && job
  })
}

it('runs a job only if the transaction that queued it commits', async () => {
  await using hub = await testHub()
  const ran: object[] = []
  await using queue = await queueOn(hub, { test_Quick: QUICK }, async (_name, data) => void ran.push(data))
  const rolledBack = hub.db.transaction().execute(async tx => {
    await queue.enqueue(tx, 'test_Quick' as JobName, { n: 1 } as never)
    throw new Error('undone')
  })
  await expect(rolledBack).rejects.toThrow('undone')
  const jobId = await enqueue(hub, queue, 'test_Quick', { n: 2 })
  expect(jobId).toMatch(/^job_\d{8}-\d{4}-\w{8}$/)
  queue.wake('test_Quick' as JobName)
  expect(await ended(hub, jobId)).toMatchObject({ status: 'Completed', attempts: 1, timeout: 60 })
  expect(ran).toEqual([{ n: 2 }])
})

it('runs each job once across all nodes, without pauses between jobs', async () => {
  await using hub = await testHub()
  const ran: unknown[] = []
  const work: Work = async (_name, data) => void ran.push((data as { n: number }).n)
  await using one = await queueOn(hub, { test_Quick: QUICK }, work)
  await using _other = await queueOn(hub, { test_Quick: QUICK }, work)
  const numbers = Array.from({ length: 30 }, (_, n) => n)
  for (const n of numbers) await enqueue(hub, one, 'test_Quick', { n })
  one.wake('test_Quick' as JobName)
  await until('all ran', () => ran.length >= numbers.length)
  expect([...ran].sort((a, b) => (a as number) - (b as number))).toEqual(numbers)
})

it('retries a failed job up to its limit, and does not retry after a PermanentFailure', async () => {
  await using hub = await testHub()
  let attempts = 0
  const kind = { ...QUICK, retryLimit: 1 }
  await using queue = await queueOn(hub, { test_Fails: kind, test_Refused: kind }, async name => {
    if (name === 'test_Refused') throw new PermanentFailure('never')
    attempts++
    throw new Error('not today')
  })
  const jobId = await enqueue(hub, queue, 'test_Fails')
  queue.wake('test_Fails' as JobName)
  expect(await ended(hub, jobId)).toMatchObject({
    status: 'Failed',
    attempts: 2,
    retryLimit: 1,
    retryDelay: 1,
  })
  expect(attempts).toBe(2)
  const refused = await enqueue(hub, queue, 'test_Refused')
  queue.wake('test_Refused' as JobName)
  expect(await ended(hub, refused)).toMatchObject({ status: 'Failed', attempts: 1 })
})

it('marks a job as Expired after its deadline and aborts its signal', async () => {
  await using hub = await testHub()
  let signal: AbortSignal | undefined
  const never: Work = async (_name, _data, job) => {
    signal = job.signal
    await new Promise(() => {})
  }
  const { log, named } = capturedLog()
  await using queue = await queueOn(hub, { test_Never: { ...QUICK, timeoutSecs: 1 } }, never, { log })
  const jobId = await enqueue(hub, queue, 'test_Never')
  queue.wake('test_Never' as JobName)
  expect(await ended(hub, jobId)).toMatchObject({ status: 'Expired', attempts: 1, queued: false })
  // pg-boss expires the job by the clock of the database, possibly shortly before the worker aborts the signal. So the test waits for
  // the signal as well.
  await until('the signal aborts', () => signal?.aborted)
  expect(named('a running job was given up')).toMatchObject([{ job: 'test_Never', jobId }])
})

it('retries the job of a killed process, or marks it as Expired if no attempt is left', async () => {
  await using hub = await testHub()
  const kinds = { test_Once: QUICK, test_Twice: { ...QUICK, retryLimit: 1 } }
  const done: string[] = []
  await using queue = await queueOn(hub, kinds)
  const onceId = await enqueue(hub, queue, 'test_Once')
  const twiceId = await enqueue(hub, queue, 'test_Twice')

  const { host, user, password, database, connectionString } = hub.pool.options
  const script = `
    import pg from 'pg'
    import { openQueue } from '${join(import.meta.dirname, 'queue.ts')}'
    import { createLog } from '${join(import.meta.dirname, '../runtime/log.ts')}'
    const pool = new pg.Pool(${JSON.stringify({ host, user, password, database, connectionString })})
    const kinds = ${JSON.stringify(kinds)}
    const queue = await openQueue({ pool, log: createLog('silent'), drainTimeoutMs: 0, kinds })
    await queue.work(async () => {
      process.stdout.write('.')
      await new Promise(() => {})
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let working = 0
  child.stdout.on('data', (chunk: Buffer) => (working += chunk.length))
  await until('both jobs run', () => working === 2)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await jobOf(hub, onceId)).toMatchObject({ status: 'Pending', queued: false, attempts: 1 })
  // Moves the start of the attempt back beyond the deadline. A short deadline could pass while the process still starts on a busy
  // machine.
  await hub.pool.query(
    `update pgboss.job set started_on = started_on - interval '61 s' where state = 'active'`,
  )

  await queue.work(async name => void done.push(name))
  expect(await ended(hub, onceId)).toMatchObject({ status: 'Expired', attempts: 1 })
  expect(await ended(hub, twiceId)).toMatchObject({ status: 'Completed', attempts: 2 })
  expect(done).toEqual(['test_Twice'])
})

it('waits for running jobs when the queue stops, and returns slow ones to the queue', async () => {
  await using hub = await testHub()
  const kind = { ...QUICK, retryLimit: 1 }
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let running = 0
  const work: Work = async name => {
    running++
    await (name === 'test_Short' ? released : new Promise(() => {}))
  }
  const queue = await queueOn(hub, { test_Short: kind, test_Long: kind }, work, { drainTimeoutMs: 5_000 })
  const short = await enqueue(hub, queue, 'test_Short')
  const long = await enqueue(hub, queue, 'test_Long')
  queue.wake('test_Short' as JobName)
  queue.wake('test_Long' as JobName)
  await until('both run', () => running === 2)
  const stopped = queue[Symbol.asyncDispose]()
  release()
  await stopped
  expect(await jobOf(hub, short)).toMatchObject({ status: 'Completed' })
  expect(await jobOf(hub, long)).toMatchObject({ status: 'Pending', queued: true, attempts: 1 })
})

it('runs a recurring job once per interval across all nodes', async () => {
  await using hub = await testHub()
  const ran: string[] = []
  const kinds = { test_Daily: { ...QUICK, everySecs: 24 * 60 * 60 }, test_Often: { ...QUICK, everySecs: 1 } }
  const work: Work = async name => void ran.push(name)
  await using _one = await queueOn(hub, kinds, work)
  await using _other = await queueOn(hub, kinds, work)
  await until('the frequent one ran three times', () => ran.filter(name => name === 'test_Often').length >= 3)
  await until('the other one ran', () => ran.includes('test_Daily'))
  expect(ran.filter(name => name === 'test_Daily')).toHaveLength(1)
  const { rows } = await hub.pool.query(
    `select count(*) as jobs, count(distinct singleton_on) as slots from pgboss.job where name = 'test_Often'`,
  )
  expect(rows[0].jobs).toBe(rows[0].slots)
})

it('runs jobs after the database connections were lost', async () => {
  const { log } = capturedLog()
  await using hub = await testHub({}, log)
  await using session = await databaseSession(hub)
  await session.terminateOthers()
  await until('the database answers again', () =>
    hub.pool.query('select').then(
      () => true,
      () => false,
    ),
  )
  expect(await hub.runJob('instance_CleanupExpired', {})).toMatchObject({ status: 'Completed' })
})

it('keeps connections as long as events, and always the last connection of a device', async () => {
  await using hub = await testHub({ eventRetentionDays: 10 })
  await hub.fleet()
  // Inserts more devices than one delete statement covers.
  await hub.pool.query(`
    insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
    select 'd_' || lpad(i::text, 22, 'a'), project_id, 'd_pk_' || lpad(i::text, 22, 'a'), sha256(i::text::bytea)
      from (select project_id from project limit 1) p, generate_series(1, 250) i`)
  const insert = `
    insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, connected_at, ended_at, end_reason)
    select 'c' || $1::int || device_id, device_id, 'n', 't', 'c', now() - make_interval(days => $1::int),
           now() - make_interval(days => $2::int), case when $2::int is not null then 'Disconnected' end
      from device`
  // Start and end of the connections, in days before now.
  for (const [began, ended] of [
    [40, 39],
    [30, 9],
    [20, 11],
  ])
    await hub.pool.query(insert, [began, ended])
  const kept = async (): Promise<Record<string, number>> => {
    const { rows } = await hub.pool.query<{ began: string; devices: number }>(
      `select substr(connection_id, 1, 3) as began, count(*)::int as devices from device_connection group by 1`,
    )
    return Object.fromEntries(rows.map(({ began, devices }) => [began, devices]))
  }
  await hub.runJob('instance_CleanupExpired', {})
  expect(await kept()).toEqual({ c30: 250, c20: 250 })
  await hub.pool.query(insert, [1, null])
  await hub.runJob('instance_CleanupExpired', {})
  expect(await kept()).toEqual({ c30: 250, c1d: 250 })
})

it('completes the recurring jobs', async () => {
  await using hub = await testHub({ auditRetentionDays: 30 })
  for (const job of [
    'instance_CleanupExpired',
    'instance_MaintainPartitions',
    'audit_SealRows',
    'audit_RemoveSealed',
    'audit_VerifySeals',
  ] as const)
    expect(await hub.runJob(job, {})).toMatchObject({ job, status: 'Completed' })
})

it('does not block readers while a partition to drop is being read', async () => {
  await using hub = await testHub()
  const { owner, projectId } = await hub.fleet()
  const deviceId = await deviceRow(hub, projectId)
  await using session = await databaseSession(hub)
  // Counts the partitions of days beyond a retention of three days.
  const countExpired = async (): Promise<number> => {
    const text = `
      select from pg_inherits join pg_class child on child.oid = inhrelid
       where inhparent = 'device_event'::regclass and child.relname ~ '_\\d{8}$'
         and to_date(right(child.relname, 8), 'YYYYMMDD') < (now() at time zone 'UTC')::date - 3`
    return (await session.query(text)).length
  }
  expect(await countExpired()).toBeGreaterThan(0)
  await session.query('begin')
  await session.query('select from device_event')
  // Drops partitions with a retention of three days.
  const dropped = maintainPartitions(hub.db, 3, { pauseMs: 100, tries: 100 })
  await session.waitingStatements(1)
  // The reader gets its answer while the drop still waits for the session.
  await owner.invoke('devices_QueryEvents', { deviceId, limit: 10 })
  await session.release()
  await dropped
  expect(await countExpired()).toBe(0)

  await session.query('begin')
  await session.query('select from device_event')
  await expect(maintainPartitions(hub.db, 2, { pauseMs: 1, tries: 2 })).rejects.toThrow('lock timeout')
})

it('deletes expired sign-ups, links, sessions and nodes, and keeps the others', async () => {
  await using hub = await testHub()
  const { db } = hub
  const ago = (days: number): Date => new Date(Date.now() - days * 24 * 60 * 60 * 1000)
  const person = async (isActive: boolean, signedUp?: Date): Promise<string> => {
    const userId = newId('u')
    await db
      .insertInto('user')
      .values({ user_id: userId, email: `${userId}@test.example`, is_active: isActive })
      .execute()
    if (signedUp)
      await db
        .insertInto('registration')
        .values({ user_id: userId, status: isActive ? 'Completed' : 'Pending', created_at: signedUp })
        .execute()
    return userId
  }
  const forgotten = await person(false, ago(8))
  const stays = [await person(false, ago(6)), await person(true, ago(8)), await person(true)]
  const link = (jwt_id: string, expires_at: Date, used_at: Date | null = null) => ({
    jwt_id,
    purpose: 'Activation',
    user_id: stays[0]!,
    expires_at,
    used_at,
  })
  await db
    .insertInto('mailed_token')
    .values([
      link('expired long ago', ago(8)),
      link('expired lately', ago(1)),
      link('used long ago', ago(-1), ago(8)),
      link('used lately', ago(-1), ago(1)),
      { ...link('of the forgotten', ago(-1)), user_id: forgotten },
    ])
    .execute()
  const session = (session_id: string, expires_at: Date) => ({
    session_id,
    token_hash: Buffer.from(session_id),
    user_id: stays[2]!,
    user_agent: '',
    expires_at,
  })
  await db
    .insertInto('session')
    .values([session('over', ago(1)), session('open', ago(-1))])
    .execute()
  const node = (node_id: string, left_at: Date | null) => ({
    node_id,
    name: 'n',
    last_heartbeat: left_at ?? new Date(),
    left_at,
  })
  await db
    .insertInto('cluster_node')
    .values([node('long gone', ago(31)), node('gone', ago(29)), node('named', ago(31))])
    .execute()
  const { projectId, tokenId } = await hub.fleet()
  const deviceId = newId('d')
  await db
    .insertInto('device')
    .values({
      device_id: deviceId,
      project_id: projectId,
      fingerprint_id: 'f',
      fingerprint_hash: Buffer.from('f'),
    })
    .execute()
  await db
    .insertInto('device_connection')
    .values({
      connection_id: newId('d_conn'),
      device_id: deviceId,
      node_id: 'named',
      token_id: tokenId,
      certificate_id: 'c',
    })
    .execute()

  await hub.runJob('instance_CleanupExpired', {})
  const users = await db.selectFrom('user').select('user_id').execute()
  expect(users.map(user => user.user_id)).not.toContain(forgotten)
  expect(users.map(user => user.user_id)).toEqual(expect.arrayContaining(stays))
  const links = await db.selectFrom('mailed_token').select('jwt_id').orderBy('jwt_id').execute()
  expect(links.map(({ jwt_id }) => jwt_id)).toEqual(['expired lately', 'used lately'])
  const sessions = await db
    .selectFrom('session')
    .where('user_id', '=', stays[2]!)
    .select('session_id')
    .execute()
  expect(sessions).toEqual([{ session_id: 'open' }])
  const nodes = await db
    .selectFrom('cluster_node')
    .where('name', '=', 'n')
    .select('node_id')
    .orderBy('node_id')
    .execute()
  expect(nodes.map(({ node_id }) => node_id)).toEqual(['gone', 'named'])
  const events = await db
    .selectFrom('audit_event')
    .where('job_id', 'is not', null)
    .select(['event', 'user_id', 'job_id'])
    .execute()
  // The event is written by the job that the test ran above, or by the same recurring job, which the hub also runs some seconds after
  // its start.
  const { jobs } = await hub.pipeline.run({ actor: 'System' }, 'jobs_Query', {
    filter: { job: 'instance_CleanupExpired' },
  })
  expect(events).toEqual([
    { event: 'users_RegistrationExpired', user_id: forgotten, job_id: expect.any(String) },
  ])
  expect(jobs.map(({ jobId }) => jobId)).toContain(events[0]!.job_id)
  expect(await auditEvents(hub, 'users_RegistrationExpired')).toMatchObject([{ actor: { actor: 'System' } }])
})

it('removes more sign-ups than one transaction holds', async () => {
  await using hub = await testHub()
  // A transaction removes 200.
  const ids = Array.from({ length: 401 }, () => newId('u'))
  await hub.pool.query(
    `with added as (
       insert into "user" (user_id, email, is_active)
       select id, id || '@test.example', false from unnest($1::text[]) id returning user_id)
     insert into registration (user_id, status, created_at) select user_id, 'Pending', now() - interval '8 days' from added`,
    [ids],
  )
  await hub.runJob('instance_CleanupExpired', {})
  const { rows } = await hub.pool.query('select from "user" where user_id = any($1)', [ids])
  expect(rows).toEqual([])
  expect(await auditEvents(hub, 'users_RegistrationExpired')).toHaveLength(401)
})
