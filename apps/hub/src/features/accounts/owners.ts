import { ownedByPerson } from '../../platform/access/scope.ts'

/** Finds the person to whom an account belongs. */
const resolveUser = ownedByPerson('select user_id as "userId" from "user" where user_id = $1')

/** Finds the person to whom a user token belongs. */
const resolveUserToken = ownedByPerson('select user_id as "userId" from user_token where token_id = $1')

/** Finds the person to whom a session belongs. */
const resolveSession = ownedByPerson('select user_id as "userId" from session where session_id = $1')

/** Finds the owners of the resources of this feature. */
export const owners = {
  user: resolveUser,
  userToken: resolveUserToken,
  session: resolveSession,
}
