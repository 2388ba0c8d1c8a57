import { handler } from '../../../platform/pipeline/handler.ts'
import { startBulkAction } from '../start-bulk.ts'

/** Makes the changes that a preview has stored. */
export const devices_StartBulkChange = handler('devices_StartBulkChange', async (context, ids) => {
  const { bulkActions } = context.services
  await startBulkAction({ context, bulkActions, kinds: ['SetLabels', 'Rename', 'Import'], ...ids })
  return {}
})
