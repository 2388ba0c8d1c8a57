import { ownedByPerson } from './scope.ts'

/** Finds the person to whom an account belongs. */
export const resolveUser = ownedByPerson('select user_id as "userId" from "user" where user_id = $1')
