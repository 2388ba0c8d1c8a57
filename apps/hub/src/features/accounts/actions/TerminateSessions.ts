import { handler } from '../../../platform/pipeline/handler.ts'
import { endSessions } from '../accounts.ts'

/** Ends all sessions of an account except the caller's own. */
export const users_TerminateSessions = handler('users_TerminateSessions', async (context, { userId }) => {
  const { caller } = context
  await endSessions(context, userId, caller.actor === 'User' ? caller.sessionId : undefined)
  return {}
})
