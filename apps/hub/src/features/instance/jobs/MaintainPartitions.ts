import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Db, unlimitedTransaction } from '../../../platform/database/client/connection.ts'
import { sqlState } from '../../../platform/database/client/errors.ts'
import { defineJob, HOUR_SECS, type JobContext, RECURRING } from '../../../platform/jobs/define-job.ts'

/**
 * Lock timeout in milliseconds. A backup may hold a lock on all partitions for an hour. While a statement waits for an exclusive
 * lock, all later statements queue behind it, such as inserts of events. So the wait must be short.
 */
const LOCK_TIMEOUT_MS = 200
const LOCK_NOT_AVAILABLE = '55P03'

type RetryOptions = { pauseMs: number; tries: number; signal?: AbortSignal }

/**
 * Retries for 15 min in all. A failure does no harm: partitions exist for three days ahead, and the job runs again an hour later.
 */
const JOB_RETRY: RetryOptions = { pauseMs: 5_000, tries: 180 }

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    instance_MaintainPartitions: Record<never, never>
  }
}

/** Creates and drops the partitions of events and property changes, according to the configured retention. */
export const instance_MaintainPartitions = defineJob({
  name: 'instance_MaintainPartitions',
  // Dropping or moving the rows of a day takes minutes for a large fleet.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  run: async ({ db, eventRetentionDays }, _data, { signal }) =>
    maintainPartitions(db, eventRetentionDays, { ...JOB_RETRY, signal }),
})

/** Creates the partitions of the coming days at a start. After a failure, rows of a day without a partition go to the default partition. */
export async function createPartitions({ db, eventRetentionDays, log }: JobContext): Promise<void> {
  await maintainPartitions(db, eventRetentionDays, { pauseMs: 200, tries: 20 }).catch(error =>
    log.error({ err: error }, 'the partitions of the coming days could not be created'),
  )
}

/**
 * Creates the partitions of the coming days and drops the partitions beyond the retention. Needs exclusive locks, so it retries
 * while other sessions read the affected partitions. Throws after `tries` attempts.
 */
export async function maintainPartitions(
  db: Db,
  retentionDays: number,
  { pauseMs, tries, signal }: RetryOptions,
): Promise<void> {
  for (let left = tries - 1; ; left--) {
    try {
      return await attempt(db, retentionDays)
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || left === 0) throw error
      await pause(pauseMs, undefined, { signal })
    }
  }
}

async function attempt(db: Db, retentionDays: number): Promise<void> {
  // Dropping or moving the rows of a day may take longer than the statement timeout of 30 s.
  await unlimitedTransaction(db, async tx => {
    await sql`select set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true)`.execute(tx)
    await sql`select maintain_partitions(${retentionDays})`.execute(tx)
  })
}
