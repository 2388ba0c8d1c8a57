import { runningNodes } from '../../cluster/node.ts'
import { handler } from '../../handler.ts'
import { secsBetween, wireTime } from '../../times.ts'

export const cluster_GetDetails = handler('cluster_GetDetails', async ({ db }) => ({
  nodes: (await runningNodes(db)).map(node => ({
    nodeId: node.node_id,
    name: node.name,
    joinedAt: wireTime(node.joined_at),
    uptimeSecs: secsBetween(node.joined_at, new Date()),
    lastHeartbeat: wireTime(node.last_heartbeat),
  })),
}))
