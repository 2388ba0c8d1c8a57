import { cancelRebalance } from '../../../link/links/rebalance.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Ends the running rebalance of devices between nodes. Changes nothing if none is running. */
export const cluster_CancelRebalance = handler('cluster_CancelRebalance', async ({ tx, events }) => {
  const nodeIds = await cancelRebalance(tx)
  if (nodeIds.length > 0) await events.emit('cluster_RebalanceCancelled', { nodeIds })
  return {}
})
