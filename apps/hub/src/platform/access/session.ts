import { ownedByPerson } from './scope.ts'

/** Finds the person to whom a session belongs. */
export const resolveSession = ownedByPerson('select user_id as "userId" from session where session_id = $1')
