import { newId } from '@muster/actions'
import { every, waitUpTo } from '@muster/concurrency'
import { type RawBuilder, sql } from 'kysely'
import { sweepOrphanedActions } from '../audit/actions.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import type { Readiness } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'

/** How often a node says that it lives, and after how long without it others take it for dead, in milliseconds. */
const HEARTBEAT_MS = 5_000
const STALE_AFTER_MS = 20_000
/** How long a database that does not answer holds up the end of a node, in milliseconds; 10,000 connections take a second or two. */
const LEAVE_TIMEOUT_MS = 15_000

type NodeOptions = {
  db: Db
  name: string
  log: Logger
  /** The database is this hub's own child: no other node can be alive. */
  isAlone: boolean
  /** Notified of each heartbeat. */
  readiness: Pick<Readiness, 'heartbeatStored' | 'heartbeatFailed'>
  /** Told when others took this node for dead meanwhile: its connections count as ended. */
  onEvicted: () => void
  /** Interval of heartbeats, 5 s unless a test sets it. */
  heartbeatMs?: number
}

/** This process as a node of the cluster, with an id of its own per start. */
export type ClusterNode = AsyncDisposable & { nodeId: string }

/** Joins the cluster, keeps the heartbeat, and cleans up after nodes that died: their connections end as NodeCrashed. */
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
      // A node that cannot say farewell is buried like one that died.
      const left = leave(db, nodeId).catch(error =>
        log.warn({ err: error }, 'the end of this node was not recorded'),
      )
      await waitUpTo(LEAVE_TIMEOUT_MS, left)
    },
  }
}

/** The nodes that say that they live, the longest there first. */
export async function runningNodes(db: Db) {
  return (
    db
      .selectFrom('cluster_node')
      .where('left_at', 'is', null)
      .where('last_heartbeat', '>', sql<Date>`now() - make_interval(secs => ${STALE_AFTER_MS / 1000})`)
      .orderBy('joined_at')
      .orderBy('node_id')
      .selectAll()
      // By the clock that wrote `joined_at`: clocks of nodes differ.
      .select(sql<number>`extract(epoch from now() - joined_at)::float8`.as('uptimeSecs'))
      .execute()
  )
}

/** Whether there is another node, or was one in the last minute. */
export async function hasHadCompany(db: Db): Promise<boolean> {
  const nodes = await db
    .selectFrom('cluster_node')
    .where('last_heartbeat', '>', sql<Date>`now() - interval '1 minute'`)
    .select('node_id')
    .limit(2)
    .execute()
  return nodes.length > 1
}

/** Renews the heartbeat; tells whether another node had buried this one. */
async function renewHeartbeat(db: Db, nodeId: string): Promise<boolean> {
  const { rows } = await sql<{ wasEvicted: boolean }>`
    with before as (select node_id, left_at from cluster_node where node_id = ${nodeId} for update)
    update cluster_node n set last_heartbeat = now(), left_at = null
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
 * In one transaction, so that a node is never marked as left while its connections stay open for ever. Without `staleAfterMs` every
 * other node is dead, whatever it said when: a machine without a clock of its own may start in the past.
 */
async function evictDeadNodes(db: Db, ownNodeId: string, staleAfterMs: number | undefined): Promise<void> {
  const isStale = (column: 'last_heartbeat' | 'left_at') =>
    staleAfterMs === undefined
      ? sql<boolean>`true`
      : sql<boolean>`${sql.ref(column)} <= now() - make_interval(secs => ${staleAfterMs / 1000})`
  await db.transaction().execute(async tx => {
    const dead = await tx
      .updateTable('cluster_node')
      .set({ left_at: sql`now()` as never })
      .where('node_id', '<>', ownNodeId)
      .where('left_at', 'is', null)
      .where(isStale('last_heartbeat'))
      .returning('node_id')
      .execute()
    const deadIds = dead.map(node => node.node_id)
    // Its last sign of life, and not the moment at which somebody noticed: that may be days later.
    const endedAt = sql`greatest(connected_at, (select last_heartbeat from cluster_node n where n.node_id = c.node_id))`
    if (deadIds.length > 0) await endConnections(tx, deadIds, 'NodeCrashed', endedAt)
    // A node that left by itself may have left actions behind that it could not wait for.
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

/** Ends all connections `c` of nodes. */
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
