import { readNamePattern } from '@muster/predicates'
import { handler } from '../../../platform/pipeline/handler.ts'
import { resolveSelection } from '../bulk-preview.ts'
import { previewChange } from '../change-preview.ts'
import { planName } from '../changes/plan.ts'

/** Stores the names that a pattern gives to devices. `devices_StartBulkChange` then gives exactly these. */
export const devices_CreateBulkRename = handler('devices_CreateBulkRename', {
  async prepare(context, { projectId, selection, pattern, firstIndex = 1 }) {
    const parts = readNamePattern(pattern)
    const resolved = await resolveSelection(context, 'Rename', projectId, selection)
    return ({ tx, caller }) =>
      previewChange(tx, caller, 'Rename', projectId, resolved, {
        change: { pattern },
        plan: (device, place) => planName(parts, device, firstIndex + place),
      })
  },
})
