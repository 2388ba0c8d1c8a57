import { runningNodes } from '../../cluster/node.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../runtime/times.ts'

/** Lists the running nodes of the hub. `status` is always `Active`. Nexigon clients of April 2026 require this field. */
export const cluster_GetDetails = handler('cluster_GetDetails', async ({ db }) => ({
  nodes: (await runningNodes(db)).map(node => ({
    nodeId: node.node_id,
    name: node.name,
    status: 'Active' as const,
    joinedAt: wireTime(node.joined_at),
    uptimeSecs: Math.max(0, Math.floor(node.uptimeSecs)),
    lastHeartbeat: wireTime(node.last_heartbeat),
  })),
}))
