import { newId } from '@muster/actions'
import { every, waitUpTo } from '@muster/concurrency'
import { type RawBuilder, sql } from 'kysely'
import { sweepOrphanedActions } from '../audit/actions.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import { sqlState } from '../database/client/errors.ts'
import { retryWhileUnavailable } from '../database/client/retry-while-unavailable.ts'
import type { Readiness } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'
import { clockDifference, MAX_CLOCK_DIFFERENCE_MS } from './clock.ts'

/** Interval of heartbeats, in milliseconds. */
const HEARTBEAT_MS = 5_000
/** Age of a node's last heartbeat at which other nodes evict it, in milliseconds: four heartbeats. */
const STALE_AFTER_MS = 20_000
/** Age of a node's last heartbeat from which it is shown as dead, in milliseconds: it has missed two heartbeats. */
const SILENT_AFTER_MS = 12_000
/**
 * Longest time between two stored heartbeats of a node that may evict others, and longest wait for the answer to one, in heartbeats. After a
 * longer gap the database may have been away from all nodes. The other nodes then have a gap of at most one heartbeat more, which is below the
 * stale period of four.
 */
const MAX_GAP_HEARTBEATS = 2.5
/**
 * Interval at which a node that has seen no other one looks for one, in milliseconds. Its bus connects only then, so consoles on it miss what
 * a joined node changes before that.
 */
const LOOK_MS = 1_000
/** Timeout for leaving the cluster, in milliseconds. Recording 10,000 connections as ended takes 1 to 2 s. */
const LEAVE_TIMEOUT_MS = 15_000
/** Deadline of the statement with which a node begins to drain, in milliseconds. After it the node stops without handing devices over. */
const DRAIN_TIMEOUT_MS = 2_000
/** Time for which a node is listed after it left or died, in hours. */
const FORMER_HOURS = 24
const MAX_FORMER_NODES = 50
/** SQLSTATE codes of a statement that names a column or a table that is gone. */
const SCHEMA_DIFFERS = new Set(['42703', '42P01'])

/** Row of this node after a heartbeat, with facts about the other nodes. */
export type Heartbeat = {
  nodeId: string
  wasEvicted: boolean
  /** Number of other nodes that are alive. */
  otherCount: number
  /** Ids of the other nodes that are alive and not stopping. */
  successorIds: string[]
  /** True if another node with the same name had a heartbeat after this node's start. */
  isNameTaken: boolean
  databaseMs: number
  /** True if the heartbeat before this one is so old that the database may have been away (`MAX_GAP_HEARTBEATS`). */
  wasAway: boolean
  /** Average number of connected devices per node, over all nodes that are alive and not stopping. */
  averageConnections: number
  /** Number of devices that this node is asked to release; null if it is not asked. */
  releaseTotal: number | null
  releaseDone: number
  /** Time since the request to release devices, in seconds; null if there is none. */
  releaseSecs: number | null
  /** True if the request is part of a fast rebalance. */
  isReleaseFast: boolean
}

/**
 * Row of `instance_setting` with the time of the last fast rebalance, in seconds since 1970. The requests that were made at this time are
 * fast.
 */
export const FAST_REBALANCE = 'fast-rebalance'

/** SQL condition that the request of a node to release devices is fast. `alias` is the alias of `cluster_node` in the query. */
const isReleaseFast = (alias: string) =>
  sql<boolean>`exists (select from instance_setting s where s.key = ${FAST_REBALANCE}
    and s.value = to_jsonb(extract(epoch from ${sql.ref(`${alias}.release_started_at`)})))`

type NodeOptions = {
  db: Db
  name: string
  log: Logger
  /** True for the embedded database. Only this hub uses it, so no other node can be alive. */
  isAlone: boolean
  /** Receives the result of each heartbeat, and reports a wrong clock. */
  readiness: Pick<Readiness, 'heartbeatStored' | 'heartbeatFailed' | 'degrade' | 'restore'>
  /** Called after another node evicted this node and recorded this node's connections as ended. Must close the connections. */
  onEvicted: () => void
  /**
   * Throws if this release cannot run on the schema of the database. Called after an eviction, because a newer node does not wait with a
   * migration for an evicted one, and when the schema does not fit a heartbeat. Resolves to false while another node migrates. It is then
   * called again after the next heartbeat.
   */
  requireUsableSchema?: () => Promise<boolean>
  /** Called after each heartbeat. */
  onHeartbeat?: (heartbeat: Heartbeat) => Promise<void>
  /** Number of devices that are connected to this node. */
  connections?: () => number
  /** Newest migration that this release knows. Stored, so that a newer hub finds nodes whose release is older than a migration. */
  newestMigration?: string
  /** Carriers of messages that this node uses, joined by " and ". Stored, so that a node that shares none of them is refused. */
  carriers?: string | undefined
  /** Interval of heartbeats, 5 s unless a test sets it. The other times are multiples of it. */
  heartbeatMs?: number | undefined
}

/**
 * This process as a node of the cluster, with a new id at each start. Disposal records the node's open connections as ended and leaves the
 * cluster.
 */
export type ClusterNode = AsyncDisposable & {
  nodeId: string
  /** True if another node was alive at the last heartbeat. */
  readonly hasOthers: boolean
  /** Resolves after the first heartbeat at which another node was alive. */
  readonly otherSeen: Promise<void>
  /** True if another node was alive and not stopping at the last heartbeat. */
  readonly hasSuccessor: boolean
  /**
   * Undefined while the last heartbeat is so recent that no other node can have evicted this one. Else a promise that resolves after
   * the next heartbeat; if this node was evicted, its connections are closed by then. Actions of devices await it, because their rights
   * may have ended while this process was suspended or had no database.
   */
  current(): Promise<void> | undefined
  /** Records that this node stops. Resolves to whether another node is alive and takes its devices. */
  startDraining(): Promise<boolean>
}

/**
 * Joins the cluster, stores heartbeats, and evicts dead nodes, whose connections end as `NodeCrashed`. A node that has just joined, or that
 * could not store heartbeats itself, evicts no other node for one stale period (20 s): an outage of the database makes the heartbeats of
 * all nodes stale, and the other nodes need this time to store one.
 */
export async function joinCluster({
  db,
  name,
  log,
  isAlone,
  readiness,
  onEvicted,
  requireUsableSchema = async () => true,
  onHeartbeat = async () => {},
  connections = () => 0,
  newestMigration,
  carriers,
  heartbeatMs = HEARTBEAT_MS,
}: NodeOptions): Promise<ClusterNode> {
  const nodeId = newId('cluster_node')
  const staleAfterMs = (heartbeatMs / HEARTBEAT_MS) * STALE_AFTER_MS
  await db
    .insertInto('cluster_node')
    .values({ node_id: nodeId, name, newest_migration: newestMigration ?? null, carriers: carriers ?? null })
    .execute()

  let sentAt = clocks()
  let clockAheadMs = 0
  let last: { otherCount: number; hasSuccessor: boolean } = { otherCount: 0, hasSuccessor: false }
  const { promise: otherSeen, resolve: seeOther } = Promise.withResolvers<void>()
  let hasSeenOther = false
  let hasWarnedOfName = false
  let isStopping = false
  let isSchemaChecked = true
  /** Start of the time for which this node has stored its heartbeats without a gap. */
  let steadySinceMs = sentAt.steadyMs
  let beating: Promise<void> | undefined

  const beat = async (evictAfterMs: number | undefined): Promise<void> => {
    const startedAt = clocks()
    const { value: heartbeat, aheadMs } = await clockDifference(
      () =>
        storeHeartbeat(db, { nodeId, heartbeatMs, staleAfterMs, connections: connections(), clockAheadMs }),
      ({ databaseMs }) => databaseMs,
    ).catch(async error => {
      readiness.heartbeatFailed(error)
      if (SCHEMA_DIFFERS.has(sqlState(error) ?? '')) await requireUsableSchema()
      throw error
    })
    sentAt = startedAt
    last = { otherCount: heartbeat.otherCount, hasSuccessor: heartbeat.successorIds.length > 0 }
    if (heartbeat.otherCount > 0) {
      hasSeenOther = true
      seeOther()
    }
    readiness.heartbeatStored()
    noteClock(aheadMs)
    if (heartbeat.wasEvicted) {
      log.warn({ nodeId }, 'this node was taken for dead; its connections start again')
      onEvicted()
      isSchemaChecked = false
    }
    if (!isSchemaChecked) isSchemaChecked = await requireUsableSchema()
    if (heartbeat.isNameTaken && !hasWarnedOfName) {
      hasWarnedOfName = true
      log.warn({ nodeId, name }, 'another running node has the same name (MUSTER_NODE_NAME)')
    }
    // A database that hangs holds up the heartbeats of all nodes, and then those of the others are as old as this one was.
    const maxGapMs = MAX_GAP_HEARTBEATS * heartbeatMs
    const hung = performance.now() - startedAt.steadyMs > maxGapMs
    if (heartbeat.wasAway || hung) steadySinceMs = performance.now()
    if (isAlone || performance.now() - steadySinceMs >= staleAfterMs)
      await evictDeadNodes(db, { nodeId, name, maxGapMs }, evictAfterMs, log)
    await onHeartbeat(heartbeat)
  }
  const noteClock = (aheadMs: number): void => {
    const wasWrong = Math.abs(clockAheadMs) > MAX_CLOCK_DIFFERENCE_MS
    clockAheadMs = aheadMs
    if (Math.abs(aheadMs) <= MAX_CLOCK_DIFFERENCE_MS) {
      readiness.restore('clock')
      return
    }
    const secs = Math.round(Math.abs(aheadMs) / 1000)
    const words = `the clock of this node is ${secs} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of the database`
    readiness.degrade('clock', words)
    if (!wasWrong) log.warn({ aheadMs }, words)
  }
  const beatOnce = (): Promise<void> => {
    beating ??= beat(staleAfterMs).finally(() => {
      beating = undefined
    })
    return beating
  }
  await beat(isAlone ? undefined : staleAfterMs)
  const heartbeat = every(heartbeatMs, beatOnce, error => log.warn({ err: error }, 'heartbeat failed'))
  const look = async (): Promise<void> => {
    if (!isAlone && !hasSeenOther && (await isOtherAlive(db, nodeId, staleAfterMs))) await beatOnce()
  }
  // A failure is ignored, because the heartbeat fails as well and is reported.
  const looking = every(LOOK_MS, look, () => {})
  return {
    nodeId,
    otherSeen,
    get hasOthers() {
      return last.otherCount > 0
    },
    get hasSuccessor() {
      return last.hasSuccessor
    },
    current() {
      if (isAlone || passedMs(sentAt) < staleAfterMs) return undefined
      const renew = async (): Promise<void> => {
        // Repeats a heartbeat that was in flight when the process was suspended: it proves nothing about the time since then.
        while (passedMs(sentAt) >= staleAfterMs) await beatOnce()
      }
      return retryWhileUnavailable(renew, () => isStopping)
    },
    async startDraining() {
      if (isAlone) return false
      let hasSuccessor = false
      const marked = markDraining(db, nodeId, staleAfterMs).then(
        found => {
          hasSuccessor = found
          last = { ...last, hasSuccessor: found }
        },
        error => log.warn({ err: error }, 'could not record that this node stops'),
      )
      await waitUpTo(DRAIN_TIMEOUT_MS, marked)
      return hasSuccessor
    },
    async [Symbol.asyncDispose]() {
      isStopping = true
      await looking[Symbol.asyncDispose]()
      await heartbeat[Symbol.asyncDispose]()
      // If `leave` fails, another node evicts this node as if this node had crashed.
      const left = leave(db, nodeId).catch(error =>
        log.warn({ err: error }, 'could not record that this node left the cluster'),
      )
      await waitUpTo(LEAVE_TIMEOUT_MS, left)
    },
  }
}

/** Both clocks of this process. The monotonic clock stands still while the machine is suspended, and the system time may be changed. */
function clocks(): { steadyMs: number; dateMs: number } {
  return { steadyMs: performance.now(), dateMs: Date.now() }
}

/** Time since `since` in milliseconds, by the clock that shows the longer time. */
function passedMs(since: ReturnType<typeof clocks>): number {
  return Math.max(performance.now() - since.steadyMs, Date.now() - since.dateMs)
}

/** SQL condition that a node has not left and stored a heartbeat in the last `ms`. `alias` is the alias of `cluster_node` in the query. */
const isAlive = (alias: string, ms: number) =>
  sql<boolean>`(${sql.ref(`${alias}.left_at`)} is null
    and ${sql.ref(`${alias}.last_heartbeat`)} > now() - make_interval(secs => ${ms / 1000}))`

/** Nodes that stored a heartbeat in the last 20 s and have not left, longest-running first. */
export async function runningNodes(db: Db, withinMs = STALE_AFTER_MS) {
  return (
    db
      .selectFrom('cluster_node as n')
      .where(isAlive('n', withinMs))
      .orderBy('joined_at')
      .orderBy('node_id')
      .selectAll()
      // Computed by the database, whose clock wrote `joined_at`, because the clocks of nodes differ.
      .select([
        sql<number>`extract(epoch from now() - joined_at)::float8`.as('uptimeSecs'),
        isReleaseFast('n').as('isReleaseFast'),
      ])
      .execute()
  )
}

/** Nodes that are shown as running: they missed at most one heartbeat. */
export function shownNodes(db: Db) {
  return runningNodes(db, SILENT_AFTER_MS)
}

/**
 * Nodes that left or died in the last 24 h, latest first, except nodes whose name a running node has taken over. `endedAt` of a dead node
 * is its last heartbeat.
 */
export async function formerNodes(db: Db) {
  const isDead = sql<boolean>`(n.left_at is null or n.evicted_at is not null)`
  const endedAt = sql<Date>`case when ${isDead} then n.last_heartbeat else n.left_at end`
  return db
    .selectFrom('cluster_node as n')
    .where(({ not }) => not(isAlive('n', SILENT_AFTER_MS)))
    .where(endedAt, '>', sql<Date>`now() - make_interval(hours => ${FORMER_HOURS})`)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('cluster_node as r')
            .whereRef('r.name', '=', 'n.name')
            .where(isAlive('r', SILENT_AFTER_MS))
            .select('r.node_id'),
        ),
      ),
    )
    .orderBy(endedAt, 'desc')
    .orderBy('n.node_id')
    .limit(MAX_FORMER_NODES)
    .select(['n.node_id', 'n.name', isDead.as('isDead'), endedAt.as('endedAt')])
    .execute()
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

async function isOtherAlive(db: Db, nodeId: string, staleAfterMs: number): Promise<boolean> {
  const other = await db
    .selectFrom('cluster_node as n')
    .where('n.node_id', '<>', nodeId)
    .where(isAlive('n', staleAfterMs))
    .select('n.node_id')
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

async function storeHeartbeat(
  db: Db,
  report: {
    nodeId: string
    heartbeatMs: number
    staleAfterMs: number
    connections: number
    clockAheadMs: number
  },
): Promise<Heartbeat> {
  const { nodeId, heartbeatMs, staleAfterMs, connections, clockAheadMs } = report
  const { rows } = await sql<Heartbeat>`
    with before as (select node_id, left_at, last_heartbeat from cluster_node where node_id = ${nodeId} for update),
    others as (
      select count(*)::int as all_others, coalesce(array_agg(node_id) filter (where draining_at is null), '{}') as successors,
             coalesce(sum(connection_count) filter (where draining_at is null), 0)::float8 as connections
        from cluster_node o where node_id <> ${nodeId} and ${isAlive('o', staleAfterMs)}
    )
    update cluster_node n set last_heartbeat = now(), left_at = null, evicted_at = null,
           connection_count = ${connections}, clock_ahead_ms = ${clockAheadMs}
      from before, others where n.node_id = before.node_id
    returning n.node_id as "nodeId", before.left_at is not null as "wasEvicted", others.all_others as "otherCount",
      others.successors as "successorIds",
      (others.connections + ${connections}) / (cardinality(others.successors) + 1) as "averageConnections",
      exists (select from cluster_node s where s.name = n.name and s.node_id <> n.node_id and s.left_at is null
                 and s.last_heartbeat > n.joined_at + make_interval(secs => ${heartbeatMs / 1000})) as "isNameTaken",
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseMs",
      now() - before.last_heartbeat > make_interval(secs => ${(MAX_GAP_HEARTBEATS * heartbeatMs) / 1000}) as "wasAway",
      release_total as "releaseTotal", release_done as "releaseDone",
      extract(epoch from now() - release_started_at)::float8 as "releaseSecs",
      release_total is not null and ${isReleaseFast('n')} as "isReleaseFast"`.execute(db)
  if (!rows[0]) throw new Error('The row of this node is gone from cluster_node.')
  return rows[0]
}

async function markDraining(db: Db, nodeId: string, staleAfterMs: number): Promise<boolean> {
  const { rows } = await sql<{ hasSuccessor: boolean }>`
    update cluster_node n set draining_at = now(), release_total = null where node_id = ${nodeId}
    returning exists (
      select from cluster_node o where o.node_id <> n.node_id and o.draining_at is null and ${isAlive('o', staleAfterMs)}
    ) as "hasSuccessor"`.execute(db)
  return rows[0]?.hasSuccessor ?? false
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
 * Marks nodes with a stale heartbeat as left and ends their connections, unless the last heartbeat of this node is older than `maxGapMs`: the
 * database may have hung since. One transaction does both, so that no connection of a node marked as left stays open for ever. Without
 * `staleAfterMs`, all other nodes are evicted and their last heartbeats are ignored. Comparing times would be wrong in that case: a machine
 * without a real-time clock may start with a clock that is behind the stored heartbeats.
 */
async function evictDeadNodes(
  db: Db,
  own: { nodeId: string; name: string; maxGapMs: number },
  staleAfterMs: number | undefined,
  log: Logger,
): Promise<void> {
  const isStale = (column: 'last_heartbeat' | 'left_at') =>
    staleAfterMs === undefined
      ? sql<boolean>`true`
      : sql<boolean>`(${sql.ref(column)} <= now() - make_interval(secs => ${staleAfterMs / 1000})
          and (select own.last_heartbeat from cluster_node own where own.node_id = ${own.nodeId})
            > now() - make_interval(secs => ${own.maxGapMs / 1000}))`
  const evicted = await db.transaction().execute(async tx => {
    const dead = await tx
      .updateTable('cluster_node')
      .set({ left_at: sql`now()` as never, evicted_at: sql`now()` as never })
      .where('node_id', '<>', own.nodeId)
      .where('left_at', 'is', null)
      .where(isStale('last_heartbeat'))
      .returning([
        'node_id',
        'name',
        sql<number>`extract(epoch from now() - last_heartbeat)::float8`.as('heartbeatAgeSecs'),
      ])
      .execute()
    const deadIds = dead.map(node => node.node_id)
    // Even a node that shut down cleanly may have left `Pending` actions, because it waits for running actions only for a limited time.
    // A node that was frozen may have stored connections after another node evicted it, and then have been killed.
    const gone = await tx
      .selectFrom('cluster_node as n')
      .where(({ or, exists, selectFrom }) =>
        or([
          exists(
            selectFrom('audit_action as a')
              .whereRef('a.node_id', '=', 'n.node_id')
              .where('a.status', '=', 'Pending')
              .select('a.action_id'),
          ),
          exists(
            selectFrom('device_connection as c')
              .whereRef('c.node_id', '=', 'n.node_id')
              .where('c.ended_at', 'is', null)
              .select('c.connection_id'),
          ),
        ]),
      )
      .where('node_id', '<>', own.nodeId)
      .where(isStale('left_at'))
      .select('node_id')
      .execute()
    const allIds = [...new Set([...deadIds, ...gone.map(node => node.node_id)])]
    // The connections of a dead node are recorded as ended at its last heartbeat, because the eviction may come days later.
    const endedAt = sql`greatest(connected_at, (select last_heartbeat from cluster_node n where n.node_id = c.node_id))`
    const ended =
      allIds.length > 0 ? await endConnections(tx, allIds, 'NodeCrashed', endedAt) : new Map<string, number>()
    await sweepOrphanedActions(tx, allIds)
    return dead.map(({ node_id, name, heartbeatAgeSecs }) => ({
      nodeId: node_id,
      name,
      heartbeatAgeSecs: Math.round(heartbeatAgeSecs),
      endedConnections: ended.get(node_id) ?? 0,
    }))
  })
  for (const node of evicted)
    log.warn(
      node,
      node.name === own.name
        ? 'an earlier run of this node had not stopped cleanly and was marked as dead'
        : 'another node was marked as dead',
    )
}

/** Ends all open connections of nodes. `endedAt` may refer to the connection as `c`. Resolves to connection counts by node id. */
async function endConnections(
  tx: Tx,
  nodeIds: string[],
  reason: 'NodeCrashed' | 'ServerShutdown',
  endedAt: RawBuilder<unknown>,
): Promise<Map<string, number>> {
  const { rows } = await sql<{ nodeId: string; count: number }>`
    with closed as (
      update device_connection c set ended_at = ${endedAt}, end_reason = ${reason}
       where node_id = any (${nodeIds}) and ended_at is null
      returning connection_id, device_id, node_id
    ), shown as (
      update device d set is_connected = false, connection_id = null
        from closed where d.device_id = closed.device_id and d.connection_id = closed.connection_id
    )
    select node_id as "nodeId", count(*)::int as count from closed group by node_id`.execute(tx)
  return new Map(rows.map(({ nodeId, count }) => [nodeId, count]))
}
