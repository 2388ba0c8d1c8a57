import { requireAskingSession } from '../../../platform/access/asking-session.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { startBulkAction } from '../start-bulk.ts'

/**
 * Deletes the devices that `devices_CreateBulkDeletion` stored. `askedBy` names the session of the person who clicked, for the same
 * reason as in `devices_Delete`.
 */
export const devices_StartBulkDeletion = handler(
  'devices_StartBulkDeletion',
  async (context, { askedBy, ...ids }) => {
    requireAskingSession(context.caller, askedBy, 'Delete the devices again.')
    const { bulkActions } = context.services
    await startBulkAction({ context, bulkActions, kinds: ['Delete'], ...ids })
    return {}
  },
)
