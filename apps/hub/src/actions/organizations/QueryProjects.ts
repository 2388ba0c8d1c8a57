import { sql } from 'kysely'
import { containing, queryPage } from '../../database/page.ts'
import { handler } from '../../handler.ts'

export const organizations_QueryProjects = handler(
  'organizations_QueryProjects',
  async ({ db }, { organizationId, filter, ...page }) => {
    let query = db
      .selectFrom('project as p')
      .where('p.organization_id', '=', organizationId)
      .select(['p.project_id as projectId', 'p.name'])
    const text = filter?.text
    if (text)
      query = query.where(
        sql<boolean>`(p.name ilike ${containing(text)} or p.project_id ilike ${containing(text)})`,
      )
    const sorts = {
      name: { by: sql`p.name`, type: 'text' },
      createdAt: { by: sql`p.created_at`, type: 'timestamptz' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`p.project_id`, 'name')
    return { projects: rows, ...rest }
  },
)
