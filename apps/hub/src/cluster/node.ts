import { newId } from '@muster/actions'
import { sql } from 'kysely'
import { sweepOrphanedActions } from '../audit/actions.ts'
import type { Db } from '../database/connection.ts'
import type { Logger } from '../log.ts'

/** How often a node says that it lives, and after how long without it others take it for dead, in milliseconds. */
const HEARTBEAT_MS = 5_000
const STALE_AFTER_MS = 20_000

type NodeOptions = {
  db: Db
  name: string
  log: Logger
  /** The database is this hub's own child: no other node can be alive. */
  isAlone: boolean
}

/** This process as a node of the cluster, with an id of its own per start. */
export type ClusterNode = AsyncDisposable & { nodeId: string }

/** Joins the cluster, keeps the heartbeat, and cleans up after nodes that died: their connections end as NodeCrashed. */
export async function joinCluster({ db, name, log, isAlone }: NodeOptions): Promise<ClusterNode> {
  const nodeId = newId('cluster_node')
  await db.insertInto('cluster_node').values({ node_id: nodeId, name }).execute()
  await buryDeadNodes(db, nodeId, isAlone ? 0 : STALE_AFTER_MS)

  const timer = setInterval(() => {
    beat().catch(error => log.warn({ err: error }, 'heartbeat failed'))
  }, HEARTBEAT_MS)
  const beat = async (): Promise<void> => {
    await db
      .updateTable('cluster_node')
      .set({ last_heartbeat: sql`now()` as never, left_at: null })
      .where('node_id', '=', nodeId)
      .execute()
    await buryDeadNodes(db, nodeId, STALE_AFTER_MS)
  }
  return {
    nodeId,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await endConnections(db, [nodeId], 'ServerShutdown')
      await db
        .updateTable('cluster_node')
        .set({ left_at: sql`now()` as never })
        .where('node_id', '=', nodeId)
        .execute()
    },
  }
}

async function buryDeadNodes(db: Db, ownNodeId: string, staleAfterMs: number): Promise<void> {
  const dead = await db
    .updateTable('cluster_node')
    .set({ left_at: sql`now()` as never })
    .where('node_id', '<>', ownNodeId)
    .where('left_at', 'is', null)
    .where(sql<boolean>`last_heartbeat <= now() - make_interval(secs => ${staleAfterMs / 1000})`)
    .returning('node_id')
    .execute()
  const nodeIds = dead.map(node => node.node_id)
  if (nodeIds.length === 0) return
  await endConnections(db, nodeIds, 'NodeCrashed')
  await sweepOrphanedActions(db, nodeIds)
}

async function endConnections(
  db: Db,
  nodeIds: string[],
  reason: 'NodeCrashed' | 'ServerShutdown',
): Promise<void> {
  await sql`
    with closed as (
      update device_connection set ended_at = now(), end_reason = ${reason}
       where node_id = any (${nodeIds}) and ended_at is null
      returning connection_id, device_id
    )
    update device d set is_connected = false, connection_id = null
      from closed where d.device_id = closed.device_id and d.connection_id = closed.connection_id`.execute(db)
}
