import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { repositoryNamesOf } from '../../repositories/index.ts'

/** Lists the repositories of an organization, sorted by name. */
export const organizations_QueryRepositories = handler(
  'organizations_QueryRepositories',
  async ({ db }, { organizationId, filter, withDetails = false, ...page }) => {
    const counted = (of: 'package' | 'asset') =>
      withDetails
        ? sql<number>`(select count(*) from ${sql.table(of)} c where c.repository_id = r.repository_id)`
        : sql<number>`0`
    const query = db
      .selectFrom('repository as r')
      .where('r.organization_id', '=', organizationId)
      .where(matchesText(filter?.text, sql`r.display_name`, sql`r.slug`, sql`r.repository_id`))
      .select([
        'r.repository_id',
        'r.display_name',
        'r.slug',
        'r.visibility',
        counted('package').as('package_count'),
        counted('asset').as('asset_count'),
      ])
    const sorts = {
      name: { by: sql`r.display_name`, type: 'text' },
      createdAt: { by: sql`r.created_at`, type: 'timestamptz' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`r.repository_id`, 'name')
    return {
      repositories: rows.map(row => ({
        repositoryId: row.repository_id,
        ...repositoryNamesOf(row),
        ...(withDetails && {
          details: {
            visibility: row.visibility as 'Public' | 'Private',
            packageCount: row.package_count,
            assetCount: row.asset_count,
          },
        }),
      })),
      ...rest,
    }
  },
)
