import { startRebalance } from '../../../link/links/rebalance.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Asks the nodes with more devices than average to release their surplus. The nodes read the request with their next heartbeat. */
export const cluster_StartRebalance = handler('cluster_StartRebalance', async ({ tx, events }, { fast }) => {
  const { releases, deviceCount, lastsSecs } = await startRebalance(tx, fast ?? false)
  if (releases.length === 0) return { result: 'Balanced' as const, deviceCount: 0, lastsSecs: 0 }
  const nodeIds = releases.map(({ nodeId }) => nodeId)
  await events.emit('cluster_RebalanceStarted', { nodeIds, deviceCount })
  return { result: 'Started' as const, deviceCount, lastsSecs }
})
