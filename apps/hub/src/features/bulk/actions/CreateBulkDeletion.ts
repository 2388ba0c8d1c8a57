import { handler } from '../../../platform/pipeline/handler.ts'
import { createPreview, resolveSelection } from '../bulk-preview.ts'

/** Stores the ids of the devices of a selection. `devices_StartBulkDeletion` then deletes exactly these devices. */
export const devices_CreateBulkDeletion = handler('devices_CreateBulkDeletion', {
  async prepare(context, { projectId, selection }) {
    const resolved = await resolveSelection(context, 'Delete', projectId, selection)
    return ({ tx, caller }) => createPreview(tx, caller, 'Delete', projectId, resolved)
  },
})
