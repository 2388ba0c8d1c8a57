import { select } from '../database/connection.ts'
import type { Resolve } from './scope.ts'

/** An account belongs to its person. */
export const resolveUser: Resolve = async (db, userId) => {
  const [row] = await select<{ userId: string }>(
    db,
    'select user_id as "userId" from "user" where user_id = $1',
    [userId],
  )
  return row
}
