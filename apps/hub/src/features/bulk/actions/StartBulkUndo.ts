import { handler } from '../../../platform/pipeline/handler.ts'
import { startBulkAction } from '../start-bulk.ts'
import { prepareUndo } from '../undo.ts'

/** Sets the labels and names again that a bulk action has replaced, where nobody has changed them since. */
export const devices_StartBulkUndo = handler(
  'devices_StartBulkUndo',
  async (context, { projectId, bulkActionId }) => {
    const { tx, caller, services } = context
    const undoId = await prepareUndo(tx, caller, projectId, bulkActionId)
    const { bulkActions } = services
    await startBulkAction({ context, bulkActions, kinds: ['Undo'], projectId, bulkActionId: undoId })
    return { bulkActionId: undoId as never }
  },
)
