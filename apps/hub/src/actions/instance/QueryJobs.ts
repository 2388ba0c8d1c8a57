import { type JobStatus, MAX_LOG_ROWS } from '@muster/actions'
import { sql } from 'kysely'
import { queryPage } from '../../database/client/page.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../runtime/times.ts'

/** What the list takes from a row of the queue's own table. */
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
 * The state of a job as people see it (spec 4). The queue has one state for whatever failed, also by its deadline, and those of an
 * attempt that lasted that long are Expired.
 */
const jobStatus = sql<JobStatus>`case j.state
  when 'completed' then 'Completed'
  when 'cancelled' then 'Cancelled'
  when 'failed' then
    case when j.completed_on >= j.started_on + j.expire_seconds * interval '1 second' then 'Expired' else 'Failed' end
  else 'Pending' end`

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
      // The queue counts an attempt when it begins, the first one not.
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
