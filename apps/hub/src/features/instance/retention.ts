import { sql } from 'kysely'
import { daysAgo, type JobContext } from '../../platform/jobs/define-job.ts'

/** Days for which a node that left the cluster is kept, so that the history of connections can show its name. */
const KEEP_NODES_DAYS = 30
/** Days for which a hit limit stays on its device's page after the last hit. */
const KEEP_LIMIT_HITS_DAYS = 30

/** Removes nodes that left the cluster, old hits of limits and expired counts of rate limits. */
export async function removeOldRecords({ db }: JobContext): Promise<void> {
  await db
    .deleteFrom('cluster_node as n')
    .where('n.left_at', '<', daysAgo(KEEP_NODES_DAYS))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('device_connection as c')
            .whereRef('c.node_id', '=', 'n.node_id')
            .where('c.ended_at', 'is', null)
            .select('c.connection_id'),
        ),
      ),
    )
    .execute()
  await db.deleteFrom('limit_hit').where('last_hit_at', '<', daysAgo(KEEP_LIMIT_HITS_DAYS)).execute()
  // The limiter compares `expire` with the clock of a node, which may differ from the database's, so a count stays for another hour.
  await sql`delete from rate_limit_count where expire < (extract(epoch from now()) - 3600) * 1000`.execute(db)
}
