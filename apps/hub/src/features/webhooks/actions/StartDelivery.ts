import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { EXPORT_TYPE } from '../exports.ts'
import { lockWebhook } from '../webhook-rows.ts'

/** Starts a webhook that a restore holds. Messages that are dropped count as failed, so each can still be sent again. */
export const webhooks_StartDelivery = handler(
  'webhooks_StartDelivery',
  async ({ tx, events, changed, services, afterCommit }, { webhookId, waiting }) => {
    const { organization_id: organizationId, name, held_at: heldAt } = await lockWebhook(tx, webhookId)
    if (heldAt !== null) {
      if (waiting === 'Drop')
        await sql`
          with dropped as (
            update webhook_delivery set state = 'Failed' where webhook_id = ${webhookId} and state = 'Waiting' returning items, type)
          update webhook_queue set waiting = waiting - (select coalesce(sum(items), 0)::int from dropped),
                 dropped = dropped + (select coalesce(sum(items) filter (where type = ${EXPORT_TYPE}), 0)::int from dropped)
           where webhook_id = ${webhookId}`.execute(tx)
      await sql`
        update webhook_queue set held_at = null, failures = 0, failing_since = null, due_at = now()
         where webhook_id = ${webhookId}`.execute(tx)
      await events.emit('webhooks_DeliveryStarted', { organizationId, webhookId, name, waiting })
      changed('webhooks')
      afterCommit(() => services.deliverer.wake())
    }
    return {}
  },
)
