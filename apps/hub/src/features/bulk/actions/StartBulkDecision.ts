import { requireAskingSession } from '../../../platform/access/asking-session.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { startBulkAction } from '../start-bulk.ts'

/** Accepts or rejects the certificates that `devices_CreateBulkDecision` stored. `askedBy` is as in `devices_StartBulkDeletion`. */
export const devices_StartBulkDecision = handler(
  'devices_StartBulkDecision',
  async (context, { askedBy, ...ids }) => {
    requireAskingSession(context.caller, askedBy, 'Decide again.')
    const { bulkActions } = context.services
    await startBulkAction({ context, bulkActions, kinds: ['Accept', 'Reject'], ...ids })
    return {}
  },
)
