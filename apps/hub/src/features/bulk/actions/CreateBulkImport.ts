import { handler } from '../../../platform/pipeline/handler.ts'
import { createChange } from '../change-preview.ts'

/** Creates an import without rows. */
export const devices_CreateBulkImport = handler(
  'devices_CreateBulkImport',
  async ({ tx, caller }, { projectId, ...form }) => ({
    bulkActionId: (await createChange(tx, caller, 'Import', projectId, { change: form })) as never,
  }),
)
