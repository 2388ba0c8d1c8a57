import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Db, unlimitedTransaction } from '../database/client/connection.ts'
import { sqlState } from '../database/client/errors.ts'
import { jobHandler } from './handler.ts'

/**
 * How long a day is waited for that others read, in milliseconds: everybody who comes later waits behind it, devices with their
 * events among them, while a backup may read all days for an hour.
 */
const LOCK_TIMEOUT_MS = 200
const LOCK_NOT_AVAILABLE = '55P03'

type Patience = { pauseMs: number; tries: number; signal?: AbortSignal }

/** A quarter of an hour: there are days ahead, and the next job comes an hour later. */
const PATIENT: Patience = { pauseMs: 5_000, tries: 180 }

export const instance_MaintainPartitions = jobHandler(
  'instance_MaintainPartitions',
  async ({ db, eventRetentionDays }, _data, { signal }) =>
    maintainPartitions(db, eventRetentionDays, { ...PATIENT, signal }),
)

/**
 * Makes the partitions of the coming days and drops those that are older than events and property changes are kept, at a moment in
 * which nobody reads those that change. Fails when there is none in so many tries.
 */
export async function maintainPartitions(
  db: Db,
  retentionDays: number,
  { pauseMs, tries, signal }: Patience,
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
  // Dropping and moving the day of many devices may take longer than the 30 s of other statements.
  await unlimitedTransaction(db, async tx => {
    await sql`select set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true)`.execute(tx)
    await sql`select maintain_partitions(${retentionDays})`.execute(tx)
  })
}
