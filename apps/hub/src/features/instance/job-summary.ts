import { type HandlerOutput, type JobStatus, MAX_SUMMARIZED_JOBS, MAX_SUMMARIZED_RUNS } from '@muster/actions'
import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { isRepeatable, jobKinds } from '../../platform/jobs/kinds.ts'
import { jobDurationMs, jobError, jobStatus, jobsOf } from './job-rows.ts'

const HOUR_MS = 60 * 60 * 1000
/** Maximum age of the jobs that are counted, in milliseconds: 24 h. */
const COUNTED_MS = 24 * HOUR_MS
/** Maximum age of the jobs that are read, in milliseconds: 48 h, so that the summary of a daily job has its last two runs. */
const READ_MS = 2 * COUNTED_MS

type Run = {
  jobId: string
  name: string
  status: JobStatus
  durationMs: number | null
  error: string | null
  createdAt: Date
  endedAt: Date | null
}
type Summary = HandlerOutput<'jobs_GetSummary'>
type KindSummary = Summary['kinds'][number]

/** Counts the jobs of the last 24 h by status, and summarizes each kind of job. Reads at most `MAX_SUMMARIZED_JOBS` jobs of 48 h. */
export async function summarizeJobs(db: Db): Promise<Summary> {
  const nowMs = Date.now()
  const since = new Date(nowMs - COUNTED_MS)
  const read: Run[] = await jobsOf(db)
    .where('j.created_on', '>=', new Date(nowMs - READ_MS))
    .orderBy('j.created_on', 'desc')
    .orderBy('j.id', 'desc')
    .limit(MAX_SUMMARIZED_JOBS + 1)
    .select([
      sql<string>`j.data ->> 'jobId'`.as('jobId'),
      'j.name',
      jobStatus.as('status'),
      jobDurationMs.as('durationMs'),
      sql<string | null>`case when j.state = 'failed' then ${jobError} end`.as('error'),
      'j.created_on as createdAt',
      'j.completed_on as endedAt',
    ])
    .execute()
  const newestFirst = read.slice(0, MAX_SUMMARIZED_JOBS)
  const counted = newestFirst.filter(run => run.createdAt >= since)
  const counts = { Pending: 0, Completed: 0, Failed: 0, Expired: 0, Cancelled: 0 }
  for (const { status } of counted) counts[status]++
  const byName = new Map<string, Run[]>()
  for (const [name, { everySecs }] of Object.entries(jobKinds()))
    if (everySecs !== undefined) byName.set(name, [])
  for (const run of newestFirst) {
    const runs = byName.get(run.name)
    if (runs) runs.push(run)
    else byName.set(run.name, [run])
  }
  return {
    since: since.toISOString(),
    total: counted.length,
    counts,
    isCut: read.length > MAX_SUMMARIZED_JOBS,
    kinds: [...byName].map(([name, runs]) => kindSummary(name, runs, since, nowMs)),
  }
}

function kindSummary(name: string, newestFirst: Run[], since: Date, nowMs: number): KindSummary {
  const everySecs = jobKinds()[name]?.everySecs
  const ended = newestFirst.filter(({ status }) => status !== 'Pending' && status !== 'Cancelled')
  const good = ended.findIndex(({ status }) => status === 'Completed')
  const failing = good === -1 ? ended : ended.slice(0, good)
  const times = ended.flatMap(({ status, durationMs }) =>
    status === 'Completed' && durationMs !== null ? [durationMs] : [],
  )
  return {
    job: name,
    everySecs,
    isRepeatable: isRepeatable(name),
    runs: newestFirst
      .slice(0, MAX_SUMMARIZED_RUNS)
      .map(({ status, durationMs }) => ({ status, durationMs: durationMs ?? undefined }))
      .reverse(),
    failedCount: newestFirst.filter(run => run.createdAt >= since && isFailure(run)).length,
    usualMs: times.sort((a, b) => a - b)[times.length >> 1],
    // pg-boss accepts one recurring job per interval. The intervals are counted from 1970 in UTC, so an hourly interval begins at :00.
    nextRunAt:
      everySecs === undefined
        ? undefined
        : new Date((Math.floor(nowMs / (everySecs * 1000)) + 1) * everySecs * 1000).toISOString(),
    failing: failing[0] && {
      since: failing.at(-1)!.endedAt!.toISOString(),
      count: failing.length,
      lastJobId: failing[0].jobId,
      lastError: failing[0].error ?? undefined,
    },
    lastCompletedAt: ended[good]?.endedAt?.toISOString(),
  }
}

function isFailure({ status }: Run): boolean {
  return status === 'Failed' || status === 'Expired'
}
