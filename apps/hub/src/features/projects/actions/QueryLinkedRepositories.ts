import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { repositoryNamesOf } from '../../repositories/index.ts'

/** Lists the repositories that are linked to a project, sorted by name. The devices of the project may read them. */
export const projects_QueryLinkedRepositories = handler(
  'projects_QueryLinkedRepositories',
  async ({ db }, { projectId, filter, ...page }) => {
    const query = db
      .selectFrom('project_repository as l')
      .innerJoin('repository as r', 'r.repository_id', 'l.repository_id')
      .where('l.project_id', '=', projectId)
      .where(matchesText(filter?.text, sql`r.display_name`, sql`r.slug`, sql`r.repository_id`))
      .select(['r.repository_id', 'r.display_name', 'r.slug'])
    const sorts = { name: { by: sql`r.display_name`, type: 'text' } } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`r.repository_id`, 'name')
    return {
      repositories: rows.map(row => ({ repositoryId: row.repository_id, ...repositoryNamesOf(row) })),
      ...rest,
    }
  },
)
