import { createPreview, resolveSelection } from '../../bulk/bulk-preview.ts'
import { handler } from '../../handler.ts'

/** Fixes the devices of a selection, which `devices_StartBulkDeletion` then deletes. */
export const devices_CreateBulkDeletion = handler('devices_CreateBulkDeletion', {
  async prepare({ db }, { projectId, selection }) {
    const resolved = await resolveSelection(db, projectId, selection)
    return ({ tx, caller }) => createPreview(tx, caller, 'Delete', projectId, resolved)
  },
})
