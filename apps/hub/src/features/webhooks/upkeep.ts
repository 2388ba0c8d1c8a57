import { sql } from 'kysely'
import type pg from 'pg'
import { daysAgo, type RemoveOld } from '../../platform/jobs/define-job.ts'
import { EXPORT_TYPE } from './exports.ts'

/** Days for which deliveries and attempts are kept, as long as their messages. */
const KEEP_DAYS = 30
/** Days for which the log of an export has batches that were delivered. There may be one every 5 s, and nothing is to be done about them. */
const KEEP_EXPORTED_DAYS = 1
/** Rows per delete statement, so that each takes far less than the statement timeout. */
const ROWS = 5_000

/** Removes deliveries and attempts older than 30 days, those of deleted webhooks, and positions of deleted organizations. */
export const removeOldDeliveries: RemoveOld = async ({ db }, { signal }) => {
  for (let removed = ROWS; removed > 0; ) {
    signal.throwIfAborted()
    const old = await sql<{ webhook_id: string; waiting: number }>`
      with gone as (
        delete from webhook_delivery where ctid = any (array(
          select ctid from webhook_delivery
           where created_at < ${daysAgo(KEEP_DAYS)}
              or created_at < ${daysAgo(KEEP_EXPORTED_DAYS)} and type = ${EXPORT_TYPE} and state = 'Delivered' limit ${ROWS}))
        returning webhook_id, state, items, type),
      counted as (
        update webhook_queue q set waiting = q.waiting - g.waiting, dropped = q.dropped + g.dropped
          from (select webhook_id, sum(items)::int as waiting, coalesce(sum(items) filter (where type = ${EXPORT_TYPE}), 0)::int as dropped
                  from gone where state = 'Waiting' group by webhook_id) g
         where q.webhook_id = g.webhook_id)
      select webhook_id from gone`.execute(db)
    const orphans = await sql`
      delete from webhook_delivery where ctid = any (array(
        select d.ctid from webhook_delivery d
         where not exists (select from webhook w where w.webhook_id = d.webhook_id) limit ${ROWS}))`.execute(
      db,
    )
    const attempts = await sql`
      delete from webhook_attempt where ctid = any (array(
        select a.ctid from webhook_attempt a where a.attempted_at < ${daysAgo(KEEP_DAYS)}
            or a.attempted_at < ${daysAgo(KEEP_EXPORTED_DAYS)} and a.type = ${EXPORT_TYPE} and a.status between 200 and 299
            or not exists (select from webhook w where w.webhook_id = a.webhook_id) limit ${ROWS}))`.execute(
      db,
    )
    // Keys of events whose message is gone, and those that an export has not put into a message before it was turned off.
    const keys = await sql`
      delete from event_export where export_id = any (array(
        select e.export_id from event_export e
         where case when e.message_id is null
                 then not exists (select from webhook w where w.project_id = e.project_id and w.format = 'otlp' and w.is_enabled)
                 else not exists (select from webhook w join webhook_delivery d on d.webhook_id = w.webhook_id and d.message_id = e.message_id
                                   where w.project_id = e.project_id and w.format = 'otlp') end limit ${ROWS}))`.execute(
      db,
    )
    removed =
      old.rows.length +
      Number(orphans.numAffectedRows) +
      Number(attempts.numAffectedRows) +
      Number(keys.numAffectedRows)
  }
  await sql`
    delete from outbox_position p where not exists (select from organization o where o.organization_id = p.organization_id)`.execute(
    db,
  )
}

/**
 * Holds the webhooks of a restored database: messages that wait there may have been delivered after the backup, and a copy of an instance must
 * not send beside the original. Feeds get new epochs, because positions after the backup were given to events that it does not have. A
 * database of before the outbox has neither. Resolves to the ids of the held webhooks.
 */
export async function holdAfterRestore(client: pg.ClientBase): Promise<string[]> {
  const { rows: tables } = await client.query<{ hasOutbox: boolean; hasWebhooks: boolean }>(
    `select to_regclass('outbox_reader') is not null as "hasOutbox", to_regclass('webhook_queue') is not null as "hasWebhooks"`,
  )
  const { hasOutbox, hasWebhooks } = tables[0]!
  if (hasOutbox)
    await client.query('update outbox_reader set feed_epoch = gen_random_uuid() where feed_epoch is not null')
  if (!hasWebhooks) return []
  const { rows } = await client.query<{ id: string }>(
    `update webhook_queue q set held_at = coalesce(q.held_at, now()), claimed_by = null, claimed_until = null
       from webhook w where w.webhook_id = q.webhook_id and w.is_enabled returning q.webhook_id as id`,
  )
  return rows.map(({ id }) => id)
}
