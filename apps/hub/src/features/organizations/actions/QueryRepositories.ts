import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { repositoryNamesOf } from '../../repositories/index.ts'

/** Lists the repositories of an organization, sorted by name. */
export const organizations_QueryRepositories = handler(
  'organizations_QueryRepositories',
  async ({ db }, { organizationId, filter, ...page }) => {
    const query = db
      .selectFrom('repository as r')
      .where('r.organization_id', '=', organizationId)
      .where(matchesText(filter?.text, sql`r.display_name`, sql`r.slug`, sql`r.repository_id`))
      .select(['r.repository_id', 'r.display_name', 'r.slug'])
    const sorts = {
      name: { by: sql`r.display_name`, type: 'text' },
      createdAt: { by: sql`r.created_at`, type: 'timestamptz' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`r.repository_id`, 'name')
    return {
      repositories: rows.map(row => ({ repositoryId: row.repository_id, ...repositoryNamesOf(row) })),
      ...rest,
    }
  },
)
