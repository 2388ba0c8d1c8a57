import { sql } from 'kysely'
import { isVisibleTo } from '../../../platform/access/visible.ts'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Lists the organizations that the caller is a member of. Administrators of the instance see all organizations. */
export const organizations_Query = handler(
  'organizations_Query',
  async ({ db, caller }, { filter, ...page }) => {
    const query = db
      .selectFrom('organization as o')
      .where(isVisibleTo(caller, sql`o.organization_id`))
      .where(matchesText(filter?.text, sql`o.name`, sql`o.organization_id`))
      .select(['o.organization_id as organizationId', 'o.name'])
    const sorts = { name: { by: sql`o.name`, type: 'text' } } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`o.organization_id`, 'name')
    return { organizations: rows, ...rest }
  },
)
