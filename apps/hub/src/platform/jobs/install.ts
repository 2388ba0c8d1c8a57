import type pg from 'pg'
import { PgBoss } from 'pg-boss'
import type { Logger } from '../runtime/log.ts'
import { jobKinds } from './kinds.ts'
import { errorOf } from './queue.ts'

/** Indexes for the list of jobs, which shows the newest first, and for finding a job by its id in the API. */
const INDEXES = {
  job_common_latest: 'created_on desc, id desc',
  job_common_job_id: "(data ->> 'jobId')",
}

/**
 * Migrates pg-boss's schema `pgboss` and creates missing queues. Runs as the owner of the tables, under the lock of the
 * migrations; the hub's own role may only read and write rows.
 */
export async function installQueue(owner: pg.Client, log: Logger): Promise<void> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => owner.query(text, values) },
    supervise: false,
    schedule: false,
  })
  boss.on('error', error => log.warn({ err: errorOf(error) }, 'the job queue failed'))
  await boss.start()
  const queues = new Set((await boss.getQueues()).map(queue => queue.name))
  for (const name of Object.keys(jobKinds())) if (!queues.has(name)) await boss.createQueue(name)
  await boss.stop({ graceful: false })
  for (const [name, keys] of Object.entries(INDEXES)) {
    // `if not exists` would lock the table against writers, also when the index exists.
    const { rows } = await owner.query('select from pg_class where oid = to_regclass($1)', [`pgboss.${name}`])
    if (rows.length === 0)
      await owner.query(`create index if not exists ${name} on pgboss.job_common (${keys})`)
  }
}

/** Whether the schema `pgboss` has the version that this release needs. Changes nothing. */
export async function isQueueCurrent(client: pg.ClientBase): Promise<boolean> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => client.query(text, values) },
    migrate: false,
    supervise: false,
    schedule: false,
  })
  boss.on('error', () => {})
  try {
    await boss.start()
    return true
  } catch (error) {
    if (/not installed|requires migrations/.test(errorOf(error).message)) return false
    throw error
  } finally {
    await boss.stop({ graceful: false })
  }
}
