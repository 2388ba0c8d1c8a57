import { select } from '../database/connection.ts'
import type { Resolve } from './scope.ts'

/** A session belongs to its person. */
export const resolveSession: Resolve = async (db, sessionId) => {
  const [row] = await select<{ userId: string }>(
    db,
    'select user_id as "userId" from session where session_id = $1',
    [sessionId],
  )
  return row
}
