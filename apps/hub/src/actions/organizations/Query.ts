import { sql } from 'kysely'
import { personOf } from '../../caller.ts'
import { containing, queryPage } from '../../database/page.ts'
import { handler } from '../../handler.ts'

export const organizations_Query = handler(
  'organizations_Query',
  async ({ db, caller }, { filter, ...page }) => {
    const person = personOf(caller)
    let query = db.selectFrom('organization as o').select(['o.organization_id as organizationId', 'o.name'])
    if (!person?.isAdmin) {
      query = query.where('o.organization_id', 'in', members =>
        members
          .selectFrom('organization_member')
          .where('user_id', '=', person?.userId ?? '')
          .select('organization_id'),
      )
    }
    const text = filter?.text
    if (text)
      query = query.where(
        sql<boolean>`(o.name ilike ${containing(text)} or o.organization_id ilike ${containing(text)})`,
      )
    const { rows, ...rest } = await queryPage(
      query,
      page,
      { name: { by: sql`o.name`, type: 'text' } },
      sql`o.organization_id`,
      'name',
    )
    return { organizations: rows, ...rest }
  },
)
