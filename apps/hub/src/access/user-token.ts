import { select } from '../database/connection.ts'
import type { Resolve } from './scope.ts'

/** A user token belongs to its person. */
export const resolveUserToken: Resolve = async (db, tokenId) => {
  const [row] = await select<{ userId: string }>(
    db,
    'select user_id as "userId" from user_token where token_id = $1',
    [tokenId],
  )
  return row
}
