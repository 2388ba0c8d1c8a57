import { cancelRebalance } from '../../cluster/rebalance.ts'
import { handler } from '../../handler.ts'

/** Ends a rebalance. Without one it changes nothing. */
export const cluster_CancelRebalance = handler('cluster_CancelRebalance', async ({ tx, events }) => {
  const nodeIds = await cancelRebalance(tx)
  if (nodeIds.length > 0) await events.emit('cluster_RebalanceCancelled', { nodeIds })
  return {}
})
