import { ActionError } from '@muster/actions'
import type { Caller } from '../caller.ts'

/** Throws `Forbidden` if a deletion that a console sent later comes from the session of another person than the one who asked for it. */
export function requireAskingPerson(caller: Caller, askedByUserId: string | undefined, remedy: string): void {
  if (askedByUserId === undefined || (caller.actor === 'User' && caller.userId === askedByUserId)) return
  throw new ActionError(
    'Forbidden',
    `Another person asked for this deletion than the one who is signed in. ${remedy}`,
  )
}
