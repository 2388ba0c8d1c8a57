import type { Resolve } from './scope.ts'

/** An account belongs to its person. */
export const resolveUser: Resolve = async (db, userId) => {
  const row = await db.selectFrom('user').where('user_id', '=', userId).select('user_id').executeTakeFirst()
  return row && { userId }
}
