import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import { EXPORT_TYPE } from './exports.ts'

/**
 * Makes messages of a webhook wait again, with all their attempts, as many as have `maxItems` items. Resolves to their number. Those that wait
 * already are left alone, and those of an export that were delivered, whose keys of events are gone.
 */
export async function waitAgain(
  tx: Tx,
  webhookId: string,
  which: RawBuilder<boolean>,
  maxItems: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with again as (
      update webhook_delivery set state = 'Waiting', tries = 0, due_at = now()
       where webhook_id = ${webhookId} and message_id in (
         select message_id from (
           select d.message_id, sum(d.items) over (order by d.position) as items from webhook_delivery d
            where d.webhook_id = ${webhookId} and d.state <> 'Waiting' and (d.state = 'Failed' or d.type <> ${EXPORT_TYPE}) and ${which}) o
          where items <= ${maxItems})
      returning items, type),
    counted as (
      update webhook_queue set due_at = now(), waiting = waiting + (select coalesce(sum(items), 0)::int from again),
             dropped = greatest(0, dropped - (select coalesce(sum(items) filter (where type = ${EXPORT_TYPE}), 0)::int from again))
       where webhook_id = ${webhookId})
    select count(*)::int as count from again`.execute(tx)
  return rows[0]!.count
}
