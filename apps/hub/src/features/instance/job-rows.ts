import type { JobStatus } from '@muster/actions'
import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'

/** Columns of the table `pgboss.job` that the hub reads. */
export type JobRow = {
  id: string
  name: string
  data: { jobId: string }
  state: string
  retry_limit: number
  retry_count: number
  retry_delay: number
  expire_seconds: number
  start_after: Date
  created_on: Date
  started_on: Date | null
  completed_on: Date | null
}

/**
 * Status of a job, with one of the names in docs/specification.md 4. pg-boss has one state for every failure, so a failed job counts as
 * `Expired` when its last attempt lasted until its deadline.
 */
export const jobStatus = sql<JobStatus>`case j.state
  when 'completed' then 'Completed'
  when 'cancelled' then 'Cancelled'
  when 'failed' then
    case when j.completed_on >= j.started_on + j.expire_seconds * interval '1 second' then 'Expired' else 'Failed' end
  else 'Pending' end`

/** Duration of the latest attempt in milliseconds; null before the first attempt and between two attempts. */
export const jobDurationMs = sql<
  number | null
>`case when j.started_on is not null and j.state not in ('created', 'retry')
  then round(extract(epoch from coalesce(j.completed_on, now()) - j.started_on) * 1000)::float8 end`

/**
 * Error of the latest failed attempt, cut to 1,000 characters. The hub stores `message`. When pg-boss ends an attempt itself, it stores
 * `value.message` at the deadline and the text `value` when its node stops.
 */
export const jobError = sql<
  string | null
>`left(coalesce(j.output ->> 'message', j.output #>> '{value,message}', j.output ->> 'value'), 1000)`

/** Query on the job table of pg-boss, with the alias `j`. */
export function jobsOf(db: Db) {
  return db.withTables<{ 'pgboss.job': JobRow }>().selectFrom('pgboss.job as j')
}
