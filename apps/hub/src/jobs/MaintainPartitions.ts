import { sql } from 'kysely'
import type { Db } from '../database/connection.ts'
import { jobHandler } from './handler.ts'

export const instance_MaintainPartitions = jobHandler(
  'instance_MaintainPartitions',
  async ({ db, eventRetentionDays }) => maintainPartitions(db, eventRetentionDays),
)

/** Makes the partitions of the coming days and drops those that are older than events and property changes are kept. */
export async function maintainPartitions(db: Db, retentionDays: number): Promise<void> {
  await db.transaction().execute(async tx => {
    // Dropping and moving a day of many devices may take longer than any statement of a request.
    await sql`set local statement_timeout = 0`.execute(tx)
    await sql`select maintain_partitions(${retentionDays})`.execute(tx)
  })
}
