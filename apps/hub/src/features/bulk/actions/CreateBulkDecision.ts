import { handler } from '../../../platform/pipeline/handler.ts'
import { createPreview, resolveSelection } from '../bulk-preview.ts'

/**
 * Stores the ids of the selected certificates, or of the pending certificates of the selected devices. `devices_StartBulkDecision` then
 * accepts or rejects exactly these certificates.
 */
export const devices_CreateBulkDecision = handler('devices_CreateBulkDecision', {
  async prepare(context, { projectId, decision, selection }) {
    const resolved = await resolveSelection(context, decision, projectId, selection)
    return ({ tx, caller }) => createPreview(tx, caller, decision, projectId, resolved)
  },
})
