import type { Config } from '../config.ts'
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

/** What jobs use. */
export type JobContext = {
  db: Db
  mailer: Mailer
  jwts: Jwts
  key: InstanceKey
  blobs: Blobs
  log: Logger
  /** Where the links in mails lead. */
  publicUrl: string
  signup: Config['signup']
  eventRetentionDays: number
  /** Nothing for ever. */
  auditRetentionDays: number | undefined
  limits: LimitValues
  limitReports: LimitReports
  storedBytes: StoredBytes
}

export type JobHandler<N extends JobName> = (
  context: JobContext,
  data: JobData[N],
  job: RunningJob,
) => Promise<void>

/** Binds the work of a job to its name, from which its data's type comes. */
export function jobHandler<N extends JobName>(_name: N, run: JobHandler<N>): JobHandler<N> {
  return run
}
