import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'

/** Makes messages of a webhook wait again, with all their attempts. Resolves to their number. Those that wait already are left alone. */
export async function waitAgain(
  tx: Tx,
  webhookId: string,
  which: RawBuilder<boolean>,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with again as (
      update webhook_delivery set state = 'Waiting', tries = 0, due_at = now()
       where webhook_id = ${webhookId} and message_id in (
         select message_id from webhook_delivery d
          where d.webhook_id = ${webhookId} and d.state <> 'Waiting' and ${which} order by d.position limit ${limit})
      returning 1),
    counted as (
      update webhook_queue set waiting = waiting + (select count(*)::int from again), due_at = now() where webhook_id = ${webhookId})
    select count(*)::int as count from again`.execute(tx)
  return rows[0]!.count
}
