import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import type { Config } from '../config/config.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import type { Jwts } from '../credentials/jwts.ts'
import type { LimitReports } from '../limits/limit-reports.ts'
import type { LimitValues } from '../limits/limits.ts'
import type { StoredBytes } from '../limits/stored-bytes.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { CommandParts } from '../pipeline/command-transaction.ts'
import type { FeatureServices } from '../pipeline/services.ts'
import type { Blobs } from '../storage/blobs.ts'
import type { JobData, JobName } from './jobs.ts'
import type { JobKind } from './kinds.ts'
import type { RunningJob } from './queue.ts'

/** Services and settings that job handlers use. */
export interface JobContext extends FeatureServices, CommandParts {
  mailer: Mailer
  jwts: Jwts
  /** Pool for the verification of the audit log, which needs a client of its own for read-only transactions. */
  pool: pg.Pool
  key: InstanceKey
  /** The former instance key after a change of the key; undefined if the setting for it is not set. */
  previousKey: InstanceKey | undefined
  blobs: Blobs
  /** Origin of the URLs in mails. */
  publicUrl: string
  signup: Config['signup']
  eventRetentionDays: number
  /** Days for which sealed (hashed and signed) audit rows are kept; undefined keeps them for ever. */
  auditRetentionDays: number | undefined
  limits: LimitValues
  limitReports: LimitReports
  storedBytes: StoredBytes
  /** Removes the rows of features that are no longer needed. */
  retention: readonly RemoveOld[]
}

/** Removes rows that are no longer needed. Many rows are removed in portions, between which `signal` ends the work. */
export type RemoveOld = (context: JobContext, job: RunningJob) => Promise<void>

/** Runs one attempt of a job. After an error the job is retried, except after `PermanentFailure`, which ends the job. */
type JobHandler<N extends JobName> = (context: JobContext, data: JobData[N], job: RunningJob) => Promise<void>

/** A kind of job: its name, its policy and its handler. */
export type Job<N extends JobName = JobName> = { name: N; policy: JobKind; run: JobHandler<N> }

/** Declares a kind of job. Its name gives the type of its data. A feature lists it in `feature.ts`. */
export function defineJob<N extends JobName>(job: Job<N>): Job<N> {
  return job
}

/** SQL of the time a number of days ago. */
export function daysAgo(days: number): RawBuilder<Date> {
  return sql<Date>`now() - make_interval(days => ${days})`
}

export const HOUR_SECS = 60 * 60

/**
 * Part of the policy of a recurring job. A failed one runs again at its next interval. The second attempt is for a job that a stopping hub
 * returned to the queue.
 */
export const RECURRING = { retryLimit: 1, retryDelaySecs: 30, isRepeatable: true }
