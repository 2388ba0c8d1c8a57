import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { BY_PROBLEMS, BY_PROJECT_NAME, isInState, totalsOf } from '../../projects/index.ts'

/** Lists the projects of an organization, sorted by name. */
export const organizations_QueryProjects = handler(
  'organizations_QueryProjects',
  async ({ db }, { organizationId, filter, totals: wantsTotals = false, ...page }) => {
    const query = db
      .selectFrom('project as p')
      .leftJoin('project_status as s', 's.project_id', 'p.project_id')
      .where('p.organization_id', '=', organizationId)
      .where(matchesText(filter?.text, sql`p.name`, sql`p.project_id`))
      .where(isInState(filter?.state))
      .select(['p.project_id as projectId', 'p.name'])
    const sorts = {
      name: BY_PROJECT_NAME,
      createdAt: { by: sql`p.created_at`, type: 'timestamptz' },
      problems: { by: BY_PROBLEMS, type: 'text' },
      devices: { by: sql`coalesce(s.device_count, 0)`, type: 'integer' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`p.project_id`, 'name')
    const totals = wantsTotals ? await totalsOf(db, organizationId) : undefined
    return {
      projects: rows,
      totals: totals && { ...totals, countedAt: totals.countedAt ? wireTime(totals.countedAt) : undefined },
      ...rest,
    }
  },
)
