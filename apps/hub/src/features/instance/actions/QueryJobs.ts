import { MAX_LOG_ROWS } from '@muster/actions'
import { sql } from 'kysely'
import type { Db } from '../../../platform/database/client/connection.ts'
import { queryPage } from '../../../platform/database/client/page.ts'
import { fillProgress } from '../../../platform/jobs/fill-portions.ts'
import { isRepeatable } from '../../../platform/jobs/kinds.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { jobDurationMs, jobError, jobStatus, jobsOf } from '../job-rows.ts'

/**
 * Sort key for three groups: failed jobs first, then waiting and running jobs, then all others. Within each group, jobs are sorted by age.
 * The added years exceed the age of any job.
 */
const problemsFirst = sql`j.created_on + case
  when j.state = 'failed' then interval '200 years'
  when j.state in ('completed', 'cancelled') then interval '0'
  else interval '100 years' end`

/** Lists background jobs, newest first. A call without `limit` gets the newest 1,000 jobs and no total. */
export const jobs_Query = handler('jobs_Query', async ({ db }, { filter, limit, ...page }) => {
  let query = jobsOf(db)
    .selectAll('j')
    .select([jobStatus.as('status'), jobDurationMs.as('durationMs'), jobError.as('lastError')])
  if (filter?.job !== undefined) query = query.where('j.name', '=', filter.job)
  if (filter?.statuses) query = query.where(sql<boolean>`${jobStatus} = any (${filter.statuses})`)
  if (filter?.withinSecs !== undefined)
    query = query.where('j.created_on', '>=', sql<Date>`now() - make_interval(secs => ${filter.withinSecs})`)
  if (filter?.since !== undefined)
    query = query.where('j.created_on', '>=', sql<Date>`${filter.since}::timestamptz`)
  if (filter?.until !== undefined)
    query = query.where('j.created_on', '<', sql<Date>`${filter.until}::timestamptz`)
  const sorts = {
    createdAt: { by: sql`j.created_on`, type: 'timestamptz' },
    problems: { by: problemsFirst, type: 'timestamptz' },
  } as const
  const { rows, ...rest } = await queryPage(
    query,
    { ...page, limit: limit ?? MAX_LOG_ROWS, countTotal: limit !== undefined },
    sorts,
    sql`j.id`,
    '-createdAt',
  )
  const progress = await progressOf(
    db,
    rows.filter(row => row.name === 'devices_RunBulkActions').map(row => row.data.jobId),
  )
  const incomplete = rows.filter(({ state }) => state !== 'completed')
  for (const kind of new Set(incomplete.map(({ name }) => name))) {
    const filled = await fillProgress(db, kind)
    if (filled) for (const { name, data } of incomplete) if (name === kind) progress.set(data.jobId, filled)
  }
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
      startedAt: row.started_on ? wireTime(row.started_on) : undefined,
      durationMs: row.durationMs ?? undefined,
      finishedAt: row.completed_on ? wireTime(row.completed_on) : undefined,
      nextAttemptAt: row.state === 'retry' ? wireTime(row.start_after) : undefined,
      lastError: row.state === 'completed' ? undefined : (row.lastError ?? undefined),
      progress: progress.get(row.data.jobId),
      isRepeatable: isRepeatable(row.name),
    })),
    ...rest,
  }
})

/** Number of processed items, and number of all items, of the bulk actions that jobs process, by job id. */
async function progressOf(db: Db, jobIds: string[]): Promise<Map<string, { done: number; total: number }>> {
  if (jobIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('bulk_action')
    .where('job_id', 'in', jobIds)
    .groupBy('job_id')
    .select([
      'job_id',
      sql<number>`sum(succeeded_count + skipped_count + failed_count)::float8`.as('done'),
      sql<number>`sum(item_count)::float8`.as('total'),
    ])
    .execute()
  return new Map(rows.map(({ job_id, ...counts }) => [job_id!, counts]))
}
