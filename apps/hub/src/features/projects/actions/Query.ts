import { sql } from 'kysely'
import { isVisibleTo } from '../../../platform/access/visible.ts'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { BY_PROJECT_NAME } from '../project-names.ts'

/** Lists the projects that the caller can see, sorted by name. */
export const projects_Query = handler('projects_Query', async ({ db, caller }, { filter, ...page }) => {
  const query = db
    .selectFrom('project as p')
    .where(isVisibleTo(caller, sql`p.organization_id`))
    .where(matchesText(filter?.text, sql`p.name`, sql`p.project_id`))
    .select(['p.project_id as projectId', 'p.name'])
  const sorts = { name: BY_PROJECT_NAME }
  const { rows, ...rest } = await queryPage(query, page, sorts, sql`p.project_id`, 'name')
  return { projects: rows, ...rest }
})
