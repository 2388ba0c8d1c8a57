import { sql } from 'kysely'
import { queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'

/** Lists the unexpired sessions of an account. `isCurrent` marks the session that makes the call. */
export const users_QuerySessions = handler(
  'users_QuerySessions',
  async ({ db, caller }, { userId, filter: _, ...page }) => {
    const query = db
      .selectFrom('session as s')
      .where('s.user_id', '=', userId)
      .where('s.expires_at', '>', new Date())
      .select(['s.session_id', 's.created_at', 's.expires_at', 's.user_agent'])
    const sorts = {
      createdAt: { by: sql`s.created_at`, type: 'timestamptz' },
      expiresAt: { by: sql`s.expires_at`, type: 'timestamptz' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`s.session_id`, '-createdAt')
    return {
      sessions: rows.map(row => ({
        sessionId: row.session_id,
        createdAt: wireTime(row.created_at),
        expiresAt: wireTime(row.expires_at),
        userAgent: row.user_agent,
        isCurrent: caller.actor === 'User' && caller.sessionId === row.session_id,
      })),
      ...rest,
    }
  },
)
