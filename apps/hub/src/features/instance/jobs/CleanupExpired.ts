import { sql } from 'kysely'
import { recordEvent } from '../../../platform/audit/events.ts'
import type { Db } from '../../../platform/database/client/connection.ts'
import { defineJob, HOUR_SECS, RECURRING } from '../../../platform/jobs/define-job.ts'
import { SYSTEM } from '../../../platform/pipeline/caller.ts'

/** Days after which an unfinished sign-up, a used or expired mailed link, and an expired link to a device's page are deleted. */
const KEEP_UNUSED_DAYS = 7
/** Days for which a node that left the cluster is kept, so that the history of connections can show its name. */
const KEEP_NODES_DAYS = 30
/** Days for which an expired user token stays in the list of its owner. */
const KEEP_EXPIRED_TOKENS_DAYS = 30
/** Days for which a hit limit stays on its device's page after the last hit. */
const KEEP_LIMIT_HITS_DAYS = 30
/** Days for which the result of a bulk action is kept. The audit log keeps its events. */
const KEEP_BULK_ACTIONS_DAYS = 30
/** Days for which a preview of a bulk action is kept if it is never started. */
const KEEP_PREVIEWS_DAYS = 1
/** Devices per delete statement of old connections. */
const DEVICES_PER_STATEMENT = 100

const daysAgo = (days: number) => sql<Date>`now() - make_interval(days => ${days})`

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    instance_CleanupExpired: Record<never, never>
  }
}

/**
 * Deletes rows that are no longer needed: sessions, mailed links and user tokens that have expired; sign-ups that were never
 * completed; expired counts of rate limits; and old records of bulk actions, cluster nodes, exceeded limits, invitations by mail, stored
 * bytes and device connections.
 */
export const instance_CleanupExpired = defineJob({
  name: 'instance_CleanupExpired',
  policy: { ...RECURRING, timeoutSecs: 600, everySecs: HOUR_SECS },
  run: async ({ db, eventRetentionDays }, _data, { jobId, signal }) => {
    await db.deleteFrom('session').where('expires_at', '<', sql<Date>`now()`).execute()
    const cutoff = daysAgo(KEEP_UNUSED_DAYS)
    await db
      .deleteFrom('mailed_token')
      .where(({ or, eb }) => or([eb('expires_at', '<', cutoff), eb('used_at', '<', cutoff)]))
      .execute()
    // An expired link to a device's page still redirects the browser to the URL that the link's issuer chose. The row of its token
    // therefore stays for some days.
    await db.deleteFrom('proxy_token').where('expires_at', '<', cutoff).execute()
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

    await db.deleteFrom('user_token').where('expires_at', '<', daysAgo(KEEP_EXPIRED_TOKENS_DAYS)).execute()
    await db.deleteFrom('limit_hit').where('last_hit_at', '<', daysAgo(KEEP_LIMIT_HITS_DAYS)).execute()
    await sql`delete from invitation_mail where now() - interval '1 day' >= all (queued_at)`.execute(db)
    // The limiter compares `expire` with the clock of a node, which may differ from the database's, so a count stays for another hour.
    await sql`delete from rate_limit_count where expire < (extract(epoch from now()) - 3600) * 1000`.execute(
      db,
    )

    await db
      .deleteFrom('bulk_action')
      .where(({ or, and, eb }) =>
        or([
          eb('created_at', '<', daysAgo(KEEP_BULK_ACTIONS_DAYS)),
          and([eb('status', '=', 'Prepared'), eb('created_at', '<', daysAgo(KEEP_PREVIEWS_DAYS))]),
        ]),
      )
      .execute()

    await sql`delete from device_stored_bytes where day < current_date - ${eventRetentionDays}::integer`.execute(
      db,
    )

    await removeOldConnections(db, eventRetentionDays, signal)

    await db.transaction().execute(async tx => {
      const registrations = await tx
        .selectFrom('registration as r')
        .innerJoin('user as u', 'u.user_id', 'r.user_id')
        .where('r.status', '=', 'Pending')
        .where('r.created_at', '<', daysAgo(KEEP_UNUSED_DAYS))
        .where('u.is_active', '=', false)
        // Skips an account whose row is locked, because its activation is in flight.
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
})

/** Removes connections that ended more than `days` days ago, except for the last connection of each device. */
async function removeOldConnections(db: Db, days: number, signal: AbortSignal): Promise<void> {
  for (let from = ''; ; ) {
    signal.throwIfAborted()
    const { rows } = await sql<{ last: string | null }>`
      with devices as (
        select device_id from device where device_id > ${from} order by device_id limit ${DEVICES_PER_STATEMENT}
      ), removed as (
        delete from device_connection c using devices d
         where c.device_id = d.device_id and c.connected_at < ${daysAgo(days)} and c.ended_at < ${daysAgo(days)}
           and exists (
             select from device_connection n where n.device_id = c.device_id and n.connected_at > c.connected_at
           )
      )
      select max(device_id) as last from devices`.execute(db)
    const last = rows[0]!.last
    if (last === null) return
    from = last
  }
}
