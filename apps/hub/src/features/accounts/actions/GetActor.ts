import { wireActor } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Returns the identity that the hub derived from the credentials of the call. */
export const actor_GetActor = handler('actor_GetActor', async ({ caller }) => ({
  actor: wireActor(caller),
  ...(caller.actor === 'User' && { sessionId: caller.sessionId as never }),
}))
