import { sql } from 'kysely'
import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { matchesFilter } from '../device-filter.ts'

/** For each filter, counts the devices that match it. Filters that are not counted within 2 s get null. */
export const projects_QueryDeviceCounts = handler(
  'projects_QueryDeviceCounts',
  async ({ db, signal }, { projectId, filters }) => {
    const counts: (number | null)[] = filters.map(() => null)
    await tryBrief(db, signal, async tx => {
      for (const [index, filter] of filters.entries()) {
        const { count } = await tx
          .selectFrom('device as d')
          .where('d.project_id', '=', projectId)
          .where(await matchesFilter(tx, filter, projectId))
          .select(sql<number>`count(*)`.as('count'))
          .executeTakeFirstOrThrow()
        counts[index] = count
      }
    })
    return { counts }
  },
)
