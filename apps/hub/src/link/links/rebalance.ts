import { GO_AWAY } from '@muster/link'
import { sql } from 'kysely'
import { FAST_REBALANCE, type Heartbeat, runningNodes } from '../../platform/cluster/node.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { SYSTEM } from '../../platform/pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../../platform/pipeline/command-transaction.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { DeviceRegistry, DeviceSession } from './registry.ts'

/** Share of its devices that a node releases per minute (1 %), but at least one device. */
const SHARE_A_MINUTE = 0.01
/**
 * Devices that a node releases per minute in a fast rebalance: 20 % of its devices, but at least 250, which moves 1,000 devices in 4 minutes.
 * A node with 20,000 devices releases 67 a second then, whose reconnections cost the other nodes about 20 % of a processor.
 */
const FAST = { shareAMinute: 0.2, leastAMinute: 250 }
/** A node whose number of devices exceeds the average by more than this share (5 %) has a surplus. */
const TOLERANCE = 0.05
/** Number of heartbeats in a row without a surplus after which a release ends. The other nodes report their devices in this time. */
const BEATS_WITHOUT_SURPLUS = 2
/** Number of heartbeats from an outage to an automatic rebalance: 2 minutes. Published agents return 60 s after their connection ended. */
const BEATS_TO_SETTLE = 24
/** Devices that are read in addition to those that are released, because the updates of some of them may run. */
const SPARE_CANDIDATES = 100

/** Node that was asked to release devices. */
type Release = { nodeId: string; name: string; releaseCount: number; lastsSecs: number }
/** Requests of a rebalance, with their total number of devices and the duration at the slowest node. */
type Rebalance = { releases: Release[]; deviceCount: number; lastsSecs: number }

/** Number of devices that a node with this number of connections releases in a minute. */
function perMinute(connections: number, isFast: boolean): number {
  return isFast
    ? Math.max(FAST.leastAMinute, connections * FAST.shareAMinute)
    : Math.max(1, connections * SHARE_A_MINUTE)
}

/** Time until a node has released `count` devices, in seconds. */
export function releaseSecs(count: number, connections: number, isFast: boolean): number {
  return Math.ceil((count / perMinute(connections, isFast)) * 60)
}

/** Number of devices above the average, or 0 if they are within the tolerance. */
function surplusOf(connections: number, average: number): number {
  const surplus = Math.floor(connections - average)
  return surplus < Math.max(1, average * TOLERANCE) ? 0 : surplus
}

/**
 * Asks each node that has a surplus of devices to release it, so that these devices connect to other nodes. The nodes read the request with
 * their next heartbeat. A later call replaces the requests of an earlier one.
 */
export async function startRebalance(tx: Tx, isFast: boolean): Promise<Rebalance> {
  const nodes = (await runningNodes(tx)).filter(node => node.draining_at === null)
  const { rows } = await sql<{ nodeId: string; count: number }>`
    select node_id as "nodeId", count(*)::int as count from device_connection
     where ended_at is null and node_id = any (${nodes.map(node => node.node_id)}) group by node_id`.execute(
    tx,
  )
  const counts = new Map(rows.map(({ nodeId, count }) => [nodeId, count]))
  const average = rows.reduce((sum, { count }) => sum + count, 0) / Math.max(1, nodes.length)
  const releases = nodes.flatMap(({ node_id: nodeId, name }) => {
    const connections = counts.get(nodeId) ?? 0
    const releaseCount = surplusOf(connections, average)
    if (releaseCount === 0) return []
    return [{ nodeId, name, releaseCount, lastsSecs: releaseSecs(releaseCount, connections, isFast) }]
  })
  for (const { nodeId, releaseCount } of releases)
    await sql`update cluster_node set release_total = ${releaseCount}, release_done = 0, release_started_at = now()
               where node_id = ${nodeId}`.execute(tx)
  if (isFast && releases.length > 0)
    await sql`insert into instance_setting (key, value) values (${FAST_REBALANCE}, to_jsonb(extract(epoch from now())))
              on conflict (key) do update set value = excluded.value`.execute(tx)
  return {
    releases,
    deviceCount: releases.reduce((sum, { releaseCount }) => sum + releaseCount, 0),
    lastsSecs: Math.max(0, ...releases.map(({ lastsSecs }) => lastsSecs)),
  }
}

/** Withdraws the requests of `startRebalance`. Resolves to the ids of the nodes that still released devices. */
export async function cancelRebalance(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ nodeId: string }>`
    update cluster_node set release_total = null where release_total is not null
    returning node_id as "nodeId"`.execute(tx)
  return rows.map(({ nodeId }) => nodeId)
}

type ReleaseOptions = {
  db: Db
  /** Parts for the transaction in which a node asks itself to release devices. Undefined while the hub starts. */
  parts: () => CommandParts | undefined
  devices: DeviceRegistry
  /** Whether the node asks itself to release its surplus after an outage. */
  isAutomatic: boolean
  log: Logger
}

/**
 * Returns the function that the node calls after each heartbeat. The function releases the next portion of the devices that this node was
 * asked to release. It ends the release when the node has no surplus any more or no other node is alive.
 */
export function releaseAfterHeartbeats({
  db,
  parts,
  devices,
  isAutomatic,
  log,
}: ReleaseOptions): (heartbeat: Heartbeat) => Promise<void> {
  /** Other nodes at the last heartbeat. Undefined before the first one. */
  let known: ReadonlySet<string> | undefined
  /** Heartbeats until the devices have had the time to return after an outage, or 0 if there was none. */
  let beatsToSettle = 0
  /** Age of the running release at the last heartbeat. */
  let lastSecs = 0
  /** True while the running release is one that this node asked itself for. */
  let isOwn = false
  let beatsWithoutSurplus = 0

  return async heartbeat => {
    const { nodeId, releaseTotal, releaseDone, releaseSecs, averageConnections, successorIds } = heartbeat
    const { connectedCount } = devices
    // A node came or came back, or the database was away.
    const wasOutage = heartbeat.wasAway || (known !== undefined && successorIds.some(id => !known!.has(id)))
    known = new Set(successorIds)
    const hasSettled = beatsToSettle === 1 && !wasOutage
    beatsToSettle = wasOutage ? BEATS_TO_SETTLE : Math.max(0, beatsToSettle - 1)
    if (releaseTotal === null || releaseSecs === null) {
      lastSecs = 0
      beatsWithoutSurplus = 0
      isOwn = isAutomatic && hasSettled && (await askOwn(parts(), db, heartbeat, connectedCount))
      return
    }
    // A request that is younger than at the last heartbeat is a person's, which has replaced the one of the node.
    if (releaseSecs < lastSecs) {
      lastSecs = 0
      isOwn = false
    }
    // A moved device counts at two nodes until the next heartbeat of the node that it left. Where each node releases one device at a time,
    // the average is too high by less than one then. Rounding down would end such a release before its last device.
    const surplus = successorIds.length === 0 ? 0 : Math.ceil(connectedCount - averageConnections)
    const leftCount = Math.max(0, Math.min(releaseTotal - releaseDone, surplus))
    const rate = perMinute(connectedCount, heartbeat.isReleaseFast) / 60
    // After a pause of its process, a node must not release all devices at once that were due in the pause.
    const allowedCount = Math.min(
      Math.floor(releaseSecs * rate) - releaseDone,
      Math.ceil((releaseSecs - lastSecs) * rate),
    )
    lastSecs = releaseSecs
    const dueCount = Math.max(0, Math.min(leftCount, allowedCount))
    const released = isOwn ? await idleDevices(db, devices, dueCount) : devices.leastUsed(dueCount)
    beatsWithoutSurplus = leftCount > 0 ? 0 : beatsWithoutSurplus + 1
    const isOver =
      releaseTotal - releaseDone <= released.length || beatsWithoutSurplus >= BEATS_WITHOUT_SURPLUS
    if (released.length === 0 && !isOver) return
    // An administrator may have cancelled the release since the heartbeat. The update finds no row then, and no device is released.
    const { rows } = await sql<{ done: number }>`
      update cluster_node set release_done = release_done + ${released.length},
             release_total = case when ${isOver}::boolean then null else release_total end
       where node_id = ${nodeId} and release_total is not null
      returning release_done as done`.execute(db)
    if (!rows[0]) return
    for (const session of released) if (!isOwn || session.isIdle) session.close(GO_AWAY.rebalance)
    if (isOver) log.info({ released: rows[0].done }, 'surplus devices were released')
  }
}

/** Makes this node release its surplus, unless a person has just asked for it. Resolves to whether it was asked. */
async function askOwn(
  parts: CommandParts | undefined,
  db: Db,
  { nodeId, averageConnections, successorIds }: Heartbeat,
  connections: number,
): Promise<boolean> {
  const deviceCount = successorIds.length === 0 ? 0 : surplusOf(connections, averageConnections)
  if (parts === undefined || deviceCount === 0) return false
  const ask = async ({ tx, events }: CommandTransaction): Promise<boolean> => {
    const { numAffectedRows } = await sql`
      update cluster_node set release_total = ${deviceCount}, release_done = 0, release_started_at = now()
       where node_id = ${nodeId} and release_total is null and draining_at is null`.execute(tx)
    if (!numAffectedRows) return false
    await events.emit('cluster_RebalanceStarted', { nodeIds: [nodeId], deviceCount })
    return true
  }
  const isAsked = await commandTransaction(ask, { caller: SYSTEM, scope: {} }, { ...parts, db })
  if (isAsked)
    parts.log.info({ devices: deviceCount }, 'this node releases its surplus of devices after an outage')
  return isAsked
}

/** Up to `count` idle devices, none of which reports a running update (docs/protocol.md 4.4). */
async function idleDevices(db: Db, devices: DeviceRegistry, count: number): Promise<DeviceSession[]> {
  if (count === 0) return []
  const idle = devices.idle().slice(0, count + SPARE_CANDIDATES)
  const { rows } = await sql<{ deviceId: string }>`
    select device_id as "deviceId" from device_update
     where device_id = any (${idle.map(({ deviceId }) => deviceId)})
       and state in ('installing', 'rebooting', 'committing')`.execute(db)
  const updating = new Set(rows.map(({ deviceId }) => deviceId))
  return idle.filter(({ deviceId }) => !updating.has(deviceId)).slice(0, count)
}
