import { newId } from '@muster/actions'
import { every, waitUpTo } from '@muster/concurrency'
import { type RawBuilder, sql } from 'kysely'
import { sweepOrphanedActions } from '../audit/actions.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import type { Readiness } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'

/** Interval of heartbeats, in milliseconds. */
const HEARTBEAT_MS = 5_000
/** Age of a node's last heartbeat at which other nodes evict it, in milliseconds: four heartbeats. */
const STALE_AFTER_MS = 20_000
/** Timeout for leaving the cluster, in milliseconds. Closing 10,000 connections in the database takes 1 to 2 s. */
const LEAVE_TIMEOUT_MS = 15_000

type NodeOptions = {
  db: Db
  name: string
  log: Logger
  /** True for the embedded database. Only this hub uses it, so no other node can be alive. */
  isAlone: boolean
  /** Receives the result of each heartbeat. */
  readiness: Pick<Readiness, 'heartbeatStored' | 'heartbeatFailed'>
  /** Called after another node evicted this node and recorded this node's connections as ended. Must close the connections. */
  onEvicted: () => void
  /** Interval of heartbeats, 5 s unless a test sets it. */
  heartbeatMs?: number
}

/**
 * This process as a node of the cluster, with a new id at each start. Disposal ends the node's open connections in the database and
 * leaves the cluster.
 */
export type ClusterNode = AsyncDisposable & { nodeId: string }

/** Joins the cluster, stores heartbeats, and evicts dead nodes, whose connections end as `NodeCrashed`. */
export async function joinCluster({
  db,
  name,
  log,
  isAlone,
  readiness,
  onEvicted,
  heartbeatMs = HEARTBEAT_MS,
}: NodeOptions): Promise<ClusterNode> {
  const nodeId = newId('cluster_node')
  await db.insertInto('cluster_node').values({ node_id: nodeId, name }).execute()
  await evictDeadNodes(db, nodeId, isAlone ? undefined : STALE_AFTER_MS)

  const beat = async (): Promise<void> => {
    const wasEvicted = await renewHeartbeat(db, nodeId).catch(error => {
      readiness.heartbeatFailed(error)
      throw error
    })
    readiness.heartbeatStored()
    if (wasEvicted) {
      log.warn({ nodeId }, 'this node was taken for dead; its connections start again')
      onEvicted()
    }
    await evictDeadNodes(db, nodeId, STALE_AFTER_MS)
  }
  const heartbeat = every(heartbeatMs, beat, error => log.warn({ err: error }, 'heartbeat failed'))
  return {
    nodeId,
    async [Symbol.asyncDispose]() {
      await heartbeat[Symbol.asyncDispose]()
      // If `leave` fails, another node evicts this node as if this node had crashed.
      const left = leave(db, nodeId).catch(error =>
        log.warn({ err: error }, 'could not record that this node left the cluster'),
      )
      await waitUpTo(LEAVE_TIMEOUT_MS, left)
    },
  }
}

/** Nodes that stored a heartbeat in the last 20 s and have not left, longest-running first. */
export async function runningNodes(db: Db) {
  return (
    db
      .selectFrom('cluster_node')
      .where('left_at', 'is', null)
      .where('last_heartbeat', '>', sql<Date>`now() - make_interval(secs => ${STALE_AFTER_MS / 1000})`)
      .orderBy('joined_at')
      .orderBy('node_id')
      .selectAll()
      // Computed by the database, whose clock wrote `joined_at`, because the clocks of nodes differ.
      .select(sql<number>`extract(epoch from now() - joined_at)::float8`.as('uptimeSecs'))
      .execute()
  )
}

/** True if at least two nodes stored a heartbeat in the last minute. This node and nodes that have left count as well. */
export async function hadOtherNodeRecently(db: Db): Promise<boolean> {
  const nodes = await db
    .selectFrom('cluster_node')
    .where('last_heartbeat', '>', sql<Date>`now() - interval '1 minute'`)
    .select('node_id')
    .limit(2)
    .execute()
  return nodes.length > 1
}

/** Stores a heartbeat. Resolves to true when another node had evicted this node. */
async function renewHeartbeat(db: Db, nodeId: string): Promise<boolean> {
  const { rows } = await sql<{ wasEvicted: boolean }>`
    with before as (select node_id, left_at from cluster_node where node_id = ${nodeId} for update)
    update cluster_node n set last_heartbeat = now(), left_at = null, evicted_at = null
      from before where n.node_id = before.node_id
    returning before.left_at is not null as "wasEvicted"`.execute(db)
  return rows[0]?.wasEvicted ?? false
}

async function leave(db: Db, nodeId: string): Promise<void> {
  await db.transaction().execute(async tx => {
    await endConnections(tx, [nodeId], 'ServerShutdown', sql`now()`)
    await tx
      .updateTable('cluster_node')
      .set({ left_at: sql`now()` as never })
      .where('node_id', '=', nodeId)
      .execute()
  })
}

/**
 * Marks nodes with a stale heartbeat as left and ends their connections. One transaction does both, so that no connection of a node
 * marked as left stays open for ever. Without `staleAfterMs`, all other nodes are evicted and their last heartbeats are ignored.
 * Comparing times would be wrong in that case: a machine without a real-time clock may start with a clock that is behind the stored
 * heartbeats.
 */
async function evictDeadNodes(db: Db, ownNodeId: string, staleAfterMs: number | undefined): Promise<void> {
  const isStale = (column: 'last_heartbeat' | 'left_at') =>
    staleAfterMs === undefined
      ? sql<boolean>`true`
      : sql<boolean>`${sql.ref(column)} <= now() - make_interval(secs => ${staleAfterMs / 1000})`
  await db.transaction().execute(async tx => {
    const dead = await tx
      .updateTable('cluster_node')
      .set({ left_at: sql`now()` as never, evicted_at: sql`now()` as never })
      .where('node_id', '<>', ownNodeId)
      .where('left_at', 'is', null)
      .where(isStale('last_heartbeat'))
      .returning('node_id')
      .execute()
    const deadIds = dead.map(node => node.node_id)
    // The connections of a dead node are recorded as ended at its last heartbeat, because the eviction may come days later.
    const endedAt = sql`greatest(connected_at, (select last_heartbeat from cluster_node n where n.node_id = c.node_id))`
    if (deadIds.length > 0) await endConnections(tx, deadIds, 'NodeCrashed', endedAt)
    // Even a node that shut down cleanly may have left `Pending` actions, because it waits for running actions only for a limited time.
    const gone = await tx
      .selectFrom('cluster_node as n')
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('audit_action as a')
            .whereRef('a.node_id', '=', 'n.node_id')
            .where('a.status', '=', 'Pending')
            .select('a.action_id'),
        ),
      )
      .where('node_id', '<>', ownNodeId)
      .where(isStale('left_at'))
      .select('node_id')
      .execute()
    await sweepOrphanedActions(tx, [...deadIds, ...gone.map(node => node.node_id)])
  })
}

/** Ends all open connections of nodes. `endedAt` may refer to the connection as `c`. */
async function endConnections(
  tx: Tx,
  nodeIds: string[],
  reason: 'NodeCrashed' | 'ServerShutdown',
  endedAt: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    with closed as (
      update device_connection c set ended_at = ${endedAt}, end_reason = ${reason}
       where node_id = any (${nodeIds}) and ended_at is null
      returning connection_id, device_id
    )
    update device d set is_connected = false, connection_id = null
      from closed where d.device_id = closed.device_id and d.connection_id = closed.connection_id`.execute(tx)
}
