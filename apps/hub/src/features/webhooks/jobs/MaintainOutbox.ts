import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Db, unlimitedTransaction } from '../../../platform/database/client/connection.ts'
import { isLockTimeout } from '../../../platform/database/client/errors.ts'
import { defineJob, HOUR_SECS, type JobContext, RECURRING } from '../../../platform/jobs/define-job.ts'

/** Days for which messages of the outbox are kept. A reader of the feed may be away for that long. */
const KEEP_DAYS = 30
/**
 * Lock timeout in milliseconds. While a statement waits for an exclusive lock, later statements queue behind it, such as the insert of an
 * audit event. So the wait must be short.
 */
const LOCK_TIMEOUT_MS = 200

type RetryOptions = { pauseMs: number; tries: number; signal?: AbortSignal }

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    webhooks_MaintainOutbox: Record<never, never>
  }
}

/** Creates the partitions of the coming days of the outbox, and drops those of messages older than 30 days. */
export const webhooks_MaintainOutbox = defineJob({
  name: 'webhooks_MaintainOutbox',
  policy: { ...RECURRING, timeoutSecs: 600, everySecs: HOUR_SECS },
  // Retries for 5 min in all. Partitions exist for three days ahead, and the job runs again an hour later.
  run: async ({ db }, _data, { signal }) => maintainOutbox(db, { pauseMs: 5_000, tries: 60, signal }),
})

/** Creates the partitions of the coming days at a start. After a failure, messages of a day without a partition go to the default partition. */
export async function createOutboxPartitions({ db, log }: JobContext): Promise<void> {
  await maintainOutbox(db, { pauseMs: 200, tries: 20 }).catch(error =>
    log.error({ err: error }, 'the partitions of the outbox could not be created'),
  )
}

/** Creates and drops partitions. It needs exclusive locks, so it retries while other sessions use the partitions. Throws after `tries` attempts. */
export async function maintainOutbox(
  db: Db,
  { pauseMs, tries, signal }: RetryOptions,
  keepDays = KEEP_DAYS,
): Promise<void> {
  for (let left = tries - 1; ; left--) {
    try {
      await unlimitedTransaction(db, async tx => {
        await sql`select set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true)`.execute(tx)
        await sql`select maintain_outbox(${keepDays})`.execute(tx)
      })
      return
    } catch (error) {
      if (!isLockTimeout(error) || left === 0) throw error
      await pause(pauseMs, undefined, { signal })
    }
  }
}
