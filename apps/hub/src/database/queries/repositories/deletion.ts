import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../client/connection.ts'

/**
 * Deletes repositories with all that is in them; the storage of their blobs is swept later. Packages go first: their files hold the
 * blobs, and both would follow by cascade in an order that nobody promises.
 */
export async function deleteRepositories(tx: Tx, which: RawBuilder<boolean>): Promise<void> {
  // Nothing comes in between the two.
  await sql`select from repository where ${which} for update`.execute(tx)
  await sql`delete from package where repository_id in (select repository_id from repository where ${which})`.execute(
    tx,
  )
  await sql`delete from repository where ${which}`.execute(tx)
}
