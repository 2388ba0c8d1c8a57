import { ownedByPerson } from './scope.ts'

/** A session belongs to its person. */
export const resolveSession = ownedByPerson('select user_id as "userId" from session where session_id = $1')
