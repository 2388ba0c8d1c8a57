import { handler } from '../../../platform/pipeline/handler.ts'

/** Ends a session. Each request reads its session from the database, so the next request with this session is anonymous. */
export const users_TerminateSession = handler(
  'users_TerminateSession',
  async ({ tx, events, services, afterCommit }, { sessionId }) => {
    const { user_id: userId } = await tx
      .deleteFrom('session')
      .where('session_id', '=', sessionId)
      .returning('user_id')
      .executeTakeFirstOrThrow()
    await events.emit('users_SessionTerminated', { userId, sessionId })
    afterCommit(() => services.rights.announce({ userId }))
    return {}
  },
)
