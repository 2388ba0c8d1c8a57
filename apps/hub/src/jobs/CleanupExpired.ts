import { sql } from 'kysely'
import { recordEvent } from '../audit/events.ts'
import { SYSTEM } from '../caller.ts'
import { jobHandler } from './handler.ts'

/** How long a sign-up may stay unfinished, and a link that is used up or over is remembered, in days. */
const KEEP_UNUSED_DAYS = 7
/** How long a node that left is named in history, in days. */
const KEEP_NODES_DAYS = 30

const daysAgo = (days: number) => sql<Date>`now() - make_interval(days => ${days})`

export const instance_CleanupExpired = jobHandler(
  'instance_CleanupExpired',
  async ({ db }, _data, { jobId }) => {
    await db.deleteFrom('session').where('expires_at', '<', sql<Date>`now()`).execute()
    const isOver = daysAgo(KEEP_UNUSED_DAYS)
    await db
      .deleteFrom('mailed_token')
      .where(({ or, eb }) => or([eb('expires_at', '<', isOver), eb('used_at', '<', isOver)]))
      .execute()
    // An expired link to a device may still lead somewhere.
    await db.deleteFrom('proxy_token').where('expires_at', '<', isOver).execute()
    await db
      .deleteFrom('cluster_node as n')
      .where('n.left_at', '<', daysAgo(KEEP_NODES_DAYS))
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('device_connection as c')
              .whereRef('c.node_id', '=', 'n.node_id')
              .where('c.ended_at', 'is', null)
              .select('c.connection_id'),
          ),
        ),
      )
      .execute()

    await db.transaction().execute(async tx => {
      const registrations = await tx
        .selectFrom('registration as r')
        .innerJoin('user as u', 'u.user_id', 'r.user_id')
        .where('r.status', '=', 'Pending')
        .where('r.created_at', '<', daysAgo(KEEP_UNUSED_DAYS))
        .where('u.is_active', '=', false)
        // One that is being activated at this moment is no longer unused.
        .forUpdate()
        .skipLocked()
        .select(['u.user_id', 'u.email'])
        .execute()
      for (const { user_id: userId, email } of registrations) {
        await tx.deleteFrom('user').where('user_id', '=', userId).execute()
        await recordEvent(tx, { caller: SYSTEM, scope: {}, jobId }, 'users_RegistrationExpired', {
          userId,
          email,
        })
      }
    })
  },
)
