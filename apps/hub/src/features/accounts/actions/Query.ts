import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { matchesEmail } from '../accounts.ts'

/** Lists the accounts of the instance. `isPending` marks an account that signed up and is not activated yet. */
export const users_Query = handler('users_Query', async ({ db }, { filter, ...page }) => {
  const query = db
    .selectFrom('user as u')
    .leftJoin('registration as r', join =>
      join.onRef('r.user_id', '=', 'u.user_id').on('r.status', '=', 'Pending'),
    )
    .where(
      sql<boolean>`(${matchesEmail(filter?.text, sql`u.email`)} or ${matchesText(filter?.text, sql`u.display_name`, sql`u.user_id`)})`,
    )
    .select([
      'u.user_id',
      'u.email',
      'u.display_name',
      'u.is_admin',
      'u.is_active',
      'u.created_at',
      sql<boolean>`r.user_id is not null`.as('is_pending'),
    ])
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
      isPending: row.is_pending,
      createdAt: wireTime(row.created_at),
    })),
    ...rest,
  }
})
