import { handler } from '../../../platform/pipeline/handler.ts'
import { startBulkAction } from '../start-bulk.ts'

/** Accepts or rejects the certificates that `devices_CreateBulkDecision` stored. */
export const devices_StartBulkDecision = handler('devices_StartBulkDecision', async (context, input) => {
  const { bulkActions } = context.services
  await startBulkAction({ context, bulkActions, kinds: ['Accept', 'Reject'], ...input })
  return {}
})
