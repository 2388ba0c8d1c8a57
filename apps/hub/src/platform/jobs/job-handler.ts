import type pg from 'pg'
import type { BulkActions } from '../../features/bulk/bulk-actions.ts'
import type { Config } from '../config/config.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import type { Jwts } from '../credentials/jwts.ts'
import type { Db } from '../database/client/connection.ts'
import type { LimitReports } from '../limits/limit-reports.ts'
import type { LimitValues } from '../limits/limits.ts'
import type { StoredBytes } from '../limits/stored-bytes.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Logger } from '../runtime/log.ts'
import type { Blobs } from '../storage/blobs.ts'
import type { JobData, JobName } from './jobs.ts'
import type { RunningJob } from './queue.ts'

/** Services and settings that job handlers use. */
export type JobContext = {
  db: Db
  mailer: Mailer
  jwts: Jwts
  /** Pool for the verification of the audit log, which needs a client of its own for read-only transactions. */
  pool: pg.Pool
  key: InstanceKey
  /** The former instance key after a change of the key; undefined if the setting for it is not set. */
  previousKey: InstanceKey | undefined
  blobs: Blobs
  log: Logger
  /** Origin of the URLs in mails. */
  publicUrl: string
  signup: Config['signup']
  eventRetentionDays: number
  /** Days for which sealed (hashed and signed) audit rows are kept; undefined keeps them for ever. */
  auditRetentionDays: number | undefined
  limits: LimitValues
  limitReports: LimitReports
  storedBytes: StoredBytes
  bulkActions: BulkActions
}

/** Runs one attempt of a job. After an error the job is retried, except after `PermanentFailure`, which ends the job. */
export type JobHandler<N extends JobName> = (
  context: JobContext,
  data: JobData[N],
  job: RunningJob,
) => Promise<void>

/** Declares a job handler. The name of the job gives the type of its data. */
export function jobHandler<N extends JobName>(_name: N, run: JobHandler<N>): JobHandler<N> {
  return run
}
