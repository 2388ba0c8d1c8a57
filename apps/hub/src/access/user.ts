import { ownedByPerson } from './scope.ts'

/** An account belongs to its person. */
export const resolveUser = ownedByPerson('select user_id as "userId" from "user" where user_id = $1')
