import { sql } from 'kysely'
import { personOf } from '../../caller.ts'
import { containing, queryPage } from '../../database/page.ts'
import { handler } from '../../handler.ts'

export const projects_Query = handler('projects_Query', async ({ db, caller }, { filter, ...page }) => {
  const person = personOf(caller)
  let query = db.selectFrom('project as p').select(['p.project_id as projectId', 'p.name'])
  if (!person?.isAdmin) {
    query = query.where('p.organization_id', 'in', members =>
      members
        .selectFrom('organization_member')
        .where('user_id', '=', person?.userId ?? '')
        .select('organization_id'),
    )
  }
  const text = filter?.text
  if (text)
    query = query.where(
      sql<boolean>`(p.name ilike ${containing(text)} or p.project_id ilike ${containing(text)})`,
    )
  const { rows, ...rest } = await queryPage(
    query,
    page,
    { name: { by: sql`p.name`, type: 'text' } },
    sql`p.project_id`,
    'name',
  )
  return { projects: rows, ...rest }
})
