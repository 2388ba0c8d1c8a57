import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { suggestNames } from '../property-suggestions.ts'

const DEFAULT_LIMIT = 50

/** Suggests properties that devices of a project have, from at most 2,000 devices. */
export const projects_QueryPropertyNames = handler(
  'projects_QueryPropertyNames',
  async ({ db, signal }, { projectId, text, namesOnly = false, limit = DEFAULT_LIMIT }) => {
    const found = await tryBrief(db, signal, tx => suggestNames(tx, projectId, { text, namesOnly, limit }))
    if (!found) return { names: [], matchCount: 0, nameCount: 0, devicesRead: 0, tookTooLong: true as const }
    const { rows, nameCount, devicesRead } = found
    return {
      names: rows.map(row => ({
        path: row.path,
        kinds: row.kinds as Kind[],
        deviceCount: row.devices,
        distinctCount: row.distinct_count,
        lowest: finite(row.lowest),
        highest: finite(row.highest),
        example: row.example ?? undefined,
      })),
      matchCount: rows[0]?.matches ?? 0,
      nameCount,
      devicesRead,
    }
  },
)

type Kind = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array'

/** Parses a number; undefined if it is too large for JavaScript. PostgreSQL keeps numbers of any size. */
function finite(text: string | null): number | undefined {
  const number = Number(text ?? Number.NaN)
  return Number.isFinite(number) ? number : undefined
}
