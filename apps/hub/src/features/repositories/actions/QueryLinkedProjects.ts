import { sql } from 'kysely'
import { isVisibleTo } from '../../../platform/access/visible.ts'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { BY_PROJECT_NAME } from '../../projects/index.ts'

/**
 * Lists the projects that are linked to a repository. Other organizations may link a public repository, so its list omits
 * projects that the caller cannot see.
 */
export const repositories_QueryLinkedProjects = handler(
  'repositories_QueryLinkedProjects',
  async ({ db, caller }, { repositoryId, filter, ...page }) => {
    const query = db
      .selectFrom('project_repository as l')
      .innerJoin('repository as r', 'r.repository_id', 'l.repository_id')
      .innerJoin('project as p', 'p.project_id', 'l.project_id')
      .where('l.repository_id', '=', repositoryId)
      .where(sql<boolean>`(r.visibility = 'Private' or ${isVisibleTo(caller, sql`p.organization_id`)})`)
      .where(matchesText(filter?.text, sql`p.name`, sql`p.project_id`))
      .select(['p.project_id as projectId', 'p.name'])
    const sorts = { name: BY_PROJECT_NAME }
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`p.project_id`, 'name')
    return { projects: rows, ...rest }
  },
)
