import { ownedByPerson } from './scope.ts'

/** A user token belongs to its person. */
export const resolveUserToken = ownedByPerson(
  'select user_id as "userId" from user_token where token_id = $1',
)
