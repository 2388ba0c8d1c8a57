import { type JobStatus, MAX_LOG_ROWS } from '@muster/actions'
import { sql } from 'kysely'
import { queryPage } from '../../database/client/page.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../runtime/times.ts'

/** Columns of the table `pgboss.job` that the list of jobs uses. */
type JobRow = {
  id: string
  name: string
  data: { jobId: string }
  state: string
  retry_limit: number
  retry_count: number
  retry_delay: number
  expire_seconds: number
  created_on: Date
  started_on: Date | null
  completed_on: Date | null
}

/**
 * Status of a job, with one of the names in docs/product.md 4. pg-boss has one state for every failure, so a failed job counts as
 * `Expired` when its last attempt lasted until its deadline.
 */
const jobStatus = sql<JobStatus>`case j.state
  when 'completed' then 'Completed'
  when 'cancelled' then 'Cancelled'
  when 'failed' then
    case when j.completed_on >= j.started_on + j.expire_seconds * interval '1 second' then 'Expired' else 'Failed' end
  else 'Pending' end`

/** Lists background jobs, newest first. A call without `limit` gets the newest 1,000 jobs and no total. */
export const jobs_Query = handler('jobs_Query', async ({ db }, { filter, limit, ...page }) => {
  let query = db
    .withTables<{ 'pgboss.job': JobRow }>()
    .selectFrom('pgboss.job as j')
    .selectAll('j')
    .select(jobStatus.as('status'))
  if (filter?.job !== undefined) query = query.where('j.name', '=', filter.job)
  if (filter?.statuses) query = query.where(sql<boolean>`${jobStatus} = any (${filter.statuses})`)
  const sorts = { createdAt: { by: sql`j.created_on`, type: 'timestamptz' } } as const
  const { rows, ...rest } = await queryPage(
    query,
    { ...page, limit: limit ?? MAX_LOG_ROWS, countTotal: limit !== undefined },
    sorts,
    sql`j.id`,
    '-createdAt',
  )
  return {
    jobs: rows.map(row => ({
      jobId: row.data.jobId,
      status: row.status,
      job: row.name,
      queued: row.state === 'created' || row.state === 'retry',
      // pg-boss increments `retry_count` when a retry starts, so the count does not include the first attempt.
      attempts: row.started_on === null ? 0 : row.retry_count + 1,
      retryLimit: row.retry_limit,
      retryDelay: row.retry_delay,
      timeout: row.expire_seconds,
      createdAt: wireTime(row.created_on),
      finishedAt: row.completed_on ? wireTime(row.completed_on) : undefined,
    })),
    ...rest,
  }
})
