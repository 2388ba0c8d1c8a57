import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { KeptAnswers } from '../../software/index.ts'
import { type DeviceFilter, matchesFilter } from '../device-filter.ts'

/** Time, in milliseconds, for which the counts of saved views are kept for all callers. */
const KEPT_MS = 10_000

const kept = new KeptAnswers<number>(KEPT_MS)

/**
 * For each filter, counts the devices that match it. Filters that are not counted within 2 s get null. With `mayBeKept` callers share counts of
 * the last 10 s on a node. What a filter matches depends on its project only, never on the caller.
 */
export const projects_QueryDeviceCounts = handler(
  'projects_QueryDeviceCounts',
  async ({ db, signal, services }, { projectId, filters, mayBeKept = false }) => {
    const questions = mayBeKept ? filters.map(filter => questionOf(projectId, filter)) : []
    const counts = filters.map(
      (_, index) => (mayBeKept ? kept.find(services, questions[index]!) : undefined) ?? null,
    )
    if (counts.includes(null))
      await tryBrief(db, signal, async tx => {
        for (const [index, filter] of filters.entries()) {
          if (counts[index] !== null) continue
          const { count } = await tx
            .selectFrom('device as d')
            .where('d.project_id', '=', projectId)
            .where(await matchesFilter(tx, filter, projectId))
            .select(sql<number>`count(*)`.as('count'))
            .executeTakeFirstOrThrow()
          counts[index] = count
          if (mayBeKept) kept.keep(services, questions[index]!, count)
        }
      })
    return { counts }
  },
)

/** Identifies the count of a filter in a project, in few bytes. The parser of the input gives equal filters the same order of members. */
function questionOf(projectId: string, filter: DeviceFilter): string {
  return `${projectId} ${createHash('sha256').update(JSON.stringify(filter)).digest('base64')}`
}
