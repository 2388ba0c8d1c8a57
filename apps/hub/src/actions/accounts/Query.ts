import { sql } from 'kysely'
import { matchesText, queryPage } from '../../database/page.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../times.ts'

export const users_Query = handler('users_Query', async ({ db }, { filter, ...page }) => {
  const query = db
    .selectFrom('user as u')
    .where(matchesText(filter?.text, sql`u.email`, sql`u.display_name`, sql`u.user_id`))
    .select(['u.user_id', 'u.email', 'u.display_name', 'u.is_admin', 'u.is_active', 'u.created_at'])
  const sorts = {
    createdAt: { by: sql`u.created_at`, type: 'timestamptz' },
    email: { by: sql`lower(u.email)`, type: 'text' },
    displayName: { by: sql`lower(coalesce(u.display_name, ''))`, type: 'text' },
  } as const
  const { rows, ...rest } = await queryPage(query, page, sorts, sql`u.user_id`, '-createdAt')
  return {
    users: rows.map(row => ({
      userId: row.user_id,
      email: row.email,
      displayName: row.display_name ?? undefined,
      isAdmin: row.is_admin,
      isActive: row.is_active,
      createdAt: wireTime(row.created_at),
    })),
    ...rest,
  }
})
