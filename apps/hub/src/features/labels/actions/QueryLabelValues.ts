import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { suggestValues } from '../label-suggestions.ts'

const DEFAULT_LIMIT = 20

/** Suggests values of a label that devices of a project have. */
export const projects_QueryLabelValues = handler(
  'projects_QueryLabelValues',
  async ({ db, signal }, { projectId, key, text, limit = DEFAULT_LIMIT }) => {
    const rows = await tryBrief(db, signal, tx => suggestValues(tx, projectId, key, { text, limit }))
    if (!rows) return { values: [], valueCount: 0, tookTooLong: true as const }
    return {
      values: rows.map(({ value, devices }) => ({ value, deviceCount: devices })),
      valueCount: rows[0]?.all ?? 0,
    }
  },
)
