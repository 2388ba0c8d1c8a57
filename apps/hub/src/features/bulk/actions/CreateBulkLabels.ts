import { handler } from '../../../platform/pipeline/handler.ts'
import { resolveSelection } from '../bulk-preview.ts'
import { previewChange } from '../change-preview.ts'
import { planOf } from '../changes/plan.ts'

/** Stores which labels of which devices change. `devices_StartBulkChange` then changes exactly these. */
export const devices_CreateBulkLabels = handler('devices_CreateBulkLabels', {
  async prepare(context, { projectId, selection, set = {}, remove = [] }) {
    const resolved = await resolveSelection(context, 'SetLabels', projectId, selection)
    const labels = new Map<string, string | null>([
      ...Object.entries(set),
      ...remove.map((key): [string, null] => [key, null]),
    ])
    return ({ tx, caller }) =>
      previewChange(tx, caller, 'SetLabels', projectId, resolved, {
        change: { set, remove },
        plan: device => planOf({ labels }, device),
      })
  },
})
