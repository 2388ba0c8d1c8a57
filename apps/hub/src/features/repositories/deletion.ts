import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'

/**
 * Deletes repositories with everything in them. A job removes the bytes of their blobs later. Packages are deleted first,
 * because their files reference the blobs: a cascade from the repository would delete files and blobs in an undefined order.
 */
export async function deleteRepositories(tx: Tx, which: RawBuilder<boolean>): Promise<void> {
  // Locks the repositories, so that no package is added between the two deletes.
  await sql`select from repository where ${which} for update`.execute(tx)
  await sql`delete from package where repository_id in (select repository_id from repository where ${which})`.execute(
    tx,
  )
  await sql`delete from repository where ${which}`.execute(tx)
}
