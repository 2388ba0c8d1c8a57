import type { Resolve } from './scope.ts'

/** A session belongs to its person. */
export const resolveSession: Resolve = async (db, sessionId) => {
  const row = await db
    .selectFrom('session')
    .where('session_id', '=', sessionId)
    .select('user_id')
    .executeTakeFirst()
  return row && { userId: row.user_id }
}
