import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'

/** Lists the user tokens of an account, including expired tokens that are not deleted yet. */
export const users_QueryTokens = handler('users_QueryTokens', async ({ db }, { userId, filter, ...page }) => {
  const query = db
    .selectFrom('user_token as t')
    .where('t.user_id', '=', userId)
    .where(matchesText(filter?.text, sql`t.name`, sql`t.token_id`))
    .select(['t.token_id', 't.created_at', 't.name', 't.expires_at', 't.last_used_at', 't.last_used_address'])
  const sorts = {
    createdAt: { by: sql`t.created_at`, type: 'timestamptz' },
    name: { by: sql`coalesce(t.name, '')`, type: 'text' },
  } as const
  const { rows, ...rest } = await queryPage(query, page, sorts, sql`t.token_id`, '-createdAt')
  return {
    tokens: rows.map(row => ({
      tokenId: row.token_id,
      createdAt: wireTime(row.created_at),
      name: row.name ?? undefined,
      expiresAt: row.expires_at === null ? undefined : wireTime(row.expires_at),
      lastUsedAt: row.last_used_at === null ? undefined : wireTime(row.last_used_at),
      lastUsedAddress: row.last_used_address ?? undefined,
    })),
    ...rest,
  }
})
