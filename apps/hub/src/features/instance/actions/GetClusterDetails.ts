import type { HandlerOutput, NodeFacts } from '@muster/actions'
import { releaseSecs } from '../../../link/links/rebalance.ts'
import { MAX_CLOCK_DIFFERENCE_MS } from '../../../platform/cluster/clock.ts'
import { formerNodes, shownNodes } from '../../../platform/cluster/node.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'

type Node = HandlerOutput<'cluster_GetDetails'>['nodes'][number]

/**
 * Lists the running nodes of the hub, and the nodes that left or died in the last 24 h. `status` is always `Active`. Nexigon clients of
 * April 2026 require this field.
 */
export const cluster_GetDetails = handler('cluster_GetDetails', async ({ db }) => ({
  nodes: (await shownNodes(db)).map(node => ({
    nodeId: node.node_id,
    name: node.name,
    status: 'Active' as const,
    joinedAt: wireTime(node.joined_at),
    uptimeSecs: Math.max(0, Math.floor(node.uptimeSecs)),
    lastHeartbeat: wireTime(node.last_heartbeat),
    state: node.draining_at === null ? ('Running' as const) : ('Draining' as const),
    version: (node.facts as Partial<NodeFacts> | null)?.version,
    connections: node.connection_count ?? undefined,
    clockAheadMs: node.clock_ahead_ms ?? undefined,
    isClockWrong: Math.abs(node.clock_ahead_ms ?? 0) > MAX_CLOCK_DIFFERENCE_MS,
    release: releaseOf(node),
  })),
  formerNodes: (await formerNodes(db)).map(({ node_id: nodeId, name, isDead, endedAt }) => ({
    nodeId,
    name,
    state: isDead ? ('Dead' as const) : ('Left' as const),
    endedAt: wireTime(endedAt),
  })),
}))

function releaseOf({
  release_total: total,
  release_done: done,
  connection_count: connections,
  isReleaseFast: isFast,
}: Awaited<ReturnType<typeof shownNodes>>[number]): Node['release'] {
  if (total === null) return undefined
  return { total, done, leftSecs: releaseSecs(total - done, connections ?? 0, isFast) }
}
