import { GO_AWAY } from '@muster/link'
import { sql } from 'kysely'
import { type Heartbeat, runningNodes } from '../../platform/cluster/node.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { DeviceRegistry } from './registry.ts'

/** Share of its devices that a node releases per minute (1 %), but at least one device. */
const SHARE_A_MINUTE = 0.01
/** A node whose number of devices exceeds the average by more than this share (5 %) has a surplus. */
const TOLERANCE = 0.05

/** Node that was asked to release devices. */
type Release = { nodeId: string; name: string; releaseCount: number; lastsSecs: number }
/** Requests of a rebalance, with their total number of devices and the duration at the slowest node. */
type Rebalance = { releases: Release[]; deviceCount: number; lastsSecs: number }

/** Number of devices that a node with this number of connections releases in a minute. */
function perMinute(connections: number): number {
  return Math.max(1, connections * SHARE_A_MINUTE)
}

/** Time until a node has released `count` devices, in seconds. */
export function releaseSecs(count: number, connections: number): number {
  return Math.ceil((count / perMinute(connections)) * 60)
}

/**
 * Asks each node that has a surplus of devices to release it, so that these devices connect to other nodes. The nodes read the request with
 * their next heartbeat. A later call replaces the requests of an earlier one.
 */
export async function startRebalance(tx: Tx): Promise<Rebalance> {
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
    const releaseCount = Math.floor(connections - average)
    if (releaseCount < Math.max(1, average * TOLERANCE)) return []
    return [{ nodeId, name, releaseCount, lastsSecs: releaseSecs(releaseCount, connections) }]
  })
  for (const { nodeId, releaseCount } of releases)
    await sql`update cluster_node set release_total = ${releaseCount}, release_done = 0, release_started_at = now()
               where node_id = ${nodeId}`.execute(tx)
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

/**
 * Returns the function that the node calls after each heartbeat. The function releases the next portion of the devices that this node was
 * asked to release. It ends the release when the node has no surplus any more or no other node is alive.
 */
export function releaseAfterHeartbeats({
  db,
  devices,
  log,
}: {
  db: Db
  devices: DeviceRegistry
  log: Logger
}): (heartbeat: Heartbeat) => Promise<void> {
  let lastSecs = 0
  return async ({ nodeId, releaseTotal, releaseDone, releaseSecs, averageConnections, successorCount }) => {
    if (releaseTotal === null || releaseSecs === null) {
      lastSecs = 0
      return
    }
    const { connectedCount } = devices
    // A moved device counts at two nodes until the next heartbeat of the node that it left. Where each node releases one device at a time,
    // the average is too high by less than one then. Rounding down would end such a release before its last device.
    const surplus = Math.ceil(connectedCount - averageConnections)
    const leftCount = successorCount === 0 ? 0 : Math.min(releaseTotal - releaseDone, surplus)
    const rate = perMinute(connectedCount) / 60
    // After a pause of its process, a node must not release all devices at once that were due in the pause.
    const allowedCount = Math.min(
      Math.floor(releaseSecs * rate) - releaseDone,
      Math.ceil((releaseSecs - lastSecs) * rate),
    )
    lastSecs = releaseSecs
    const count = Math.max(0, Math.min(leftCount, allowedCount))
    const isOver = leftCount <= count
    if (count === 0 && !isOver) return
    // An administrator may have cancelled the release since the heartbeat. The update finds no row then, and no device is released.
    const { rows } = await sql<{ done: number }>`
      update cluster_node set release_done = release_done + ${count},
             release_total = case when ${isOver}::boolean then null else release_total end
       where node_id = ${nodeId} and release_total is not null
      returning release_done as done`.execute(db)
    if (!rows[0]) return
    devices.release(count, GO_AWAY.rebalance)
    if (isOver) log.info({ released: rows[0].done }, 'surplus devices were released')
  }
}
