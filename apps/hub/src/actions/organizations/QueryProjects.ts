import { sql } from 'kysely'
import { matchesText, queryPage } from '../../database/client/page.ts'
import { handler } from '../../handler.ts'

/** Lists the projects of an organization, sorted by name. */
export const organizations_QueryProjects = handler(
  'organizations_QueryProjects',
  async ({ db }, { organizationId, filter, ...page }) => {
    const query = db
      .selectFrom('project as p')
      .where('p.organization_id', '=', organizationId)
      .where(matchesText(filter?.text, sql`p.name`, sql`p.project_id`))
      .select(['p.project_id as projectId', 'p.name'])
    const sorts = {
      name: { by: sql`p.name`, type: 'text' },
      createdAt: { by: sql`p.created_at`, type: 'timestamptz' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`p.project_id`, 'name')
    return { projects: rows, ...rest }
  },
)
