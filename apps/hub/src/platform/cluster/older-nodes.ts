import { sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'

/** Age of the last heartbeat, in seconds, above which a node counts as dead. Migrations use the same time. */
const ALIVE_SECS = 20

/** Names of up to 20 nodes that are alive and whose release does not know a migration. */
export async function olderNodes(db: Db, migration: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from cluster_node
     where left_at is null and last_heartbeat > now() - make_interval(secs => ${ALIVE_SECS})
       and coalesce(newest_migration, '') < ${migration}
     order by name limit 20`.execute(db)
  return rows.map(({ name }) => name)
}
