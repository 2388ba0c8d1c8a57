import { ActionError, type AskedBy } from '@muster/actions'
import type { Caller } from '../pipeline/caller.ts'

/**
 * Throws `Forbidden` unless the caller is the person who clicked, in the session of that click (`askedBy`). The console
 * sends the request some seconds after the click, so that the person can undo it. By then another person may have signed in to the
 * browser. `remedy` is the last sentence of the error message.
 */
export function requireAskingSession(caller: Caller, askedBy: AskedBy | undefined, remedy: string): void {
  if (!askedBy) return
  const isSamePerson = caller.actor === 'User' && caller.userId === askedBy.userId
  if (isSamePerson && caller.sessionId === askedBy.sessionId) return
  const found = isSamePerson
    ? 'You asked for this in another session than the one that sent it.'
    : 'Another person asked for this than the one who is signed in.'
  throw new ActionError('Forbidden', `${found} ${remedy}`)
}

/** The error for a user token where only a session of a person will do. */
export function needsSession(): ActionError {
  return new ActionError('Forbidden', 'This needs a person who is signed in; a user token cannot do it.')
}
