import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { suggestKeys } from '../label-suggestions.ts'

const DEFAULT_LIMIT = 20

/** Suggests keys of labels that devices of a project have. */
export const projects_QueryLabelKeys = handler(
  'projects_QueryLabelKeys',
  async ({ db, signal }, { projectId, text, limit = DEFAULT_LIMIT }) => {
    const rows = await tryBrief(db, signal, tx => suggestKeys(tx, projectId, { text, limit }))
    if (!rows) return { keys: [], keyCount: 0, tookTooLong: true as const }
    return {
      keys: rows.map(({ key, devices, values }) => ({ key, deviceCount: devices, valueCount: values })),
      keyCount: rows[0]?.all ?? 0,
    }
  },
)
