import { ownedByPerson } from './scope.ts'

/** Finds the person to whom a user token belongs. */
export const resolveUserToken = ownedByPerson(
  'select user_id as "userId" from user_token where token_id = $1',
)
