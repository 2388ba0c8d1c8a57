import type { Resolve } from './scope.ts'

/** A user token belongs to its person. */
export const resolveUserToken: Resolve = async (db, tokenId) => {
  const row = await db
    .selectFrom('user_token')
    .where('token_id', '=', tokenId)
    .select('user_id')
    .executeTakeFirst()
  return row && { userId: row.user_id }
}
