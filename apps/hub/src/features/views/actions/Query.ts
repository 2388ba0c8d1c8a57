import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { viewOf, visibleViews } from '../saved-views.ts'

const SORTS = {
  name: { by: sql`v.name`, type: 'text' },
  createdAt: { by: sql`v.created_at`, type: 'timestamptz' },
} as const

/** Lists the views of a project that the caller sees. */
export const views_Query = handler(
  'views_Query',
  async ({ db, caller, scope }, { projectId, filter, ...page }) => {
    const query = visibleViews(db, caller, projectId)
      .where('v.deleted_at', 'is', null)
      .where(matchesText(filter?.text, sql`v.name`, sql`v.view_id`))
    const { rows, ...rest } = await queryPage(query, page, SORTS, sql`v.view_id`, 'name')
    return { views: rows.map(row => viewOf(row, scope)), ...rest }
  },
)
