import { handler } from '../../../platform/pipeline/handler.ts'
import { readPreview } from '../change-preview.ts'

/** Returns the preview of a change that was not started, such as an import whose rows were all added. */
export const devices_GetBulkPreview = handler(
  'devices_GetBulkPreview',
  ({ db }, { projectId, bulkActionId }) => readPreview(db, projectId, bulkActionId),
)
