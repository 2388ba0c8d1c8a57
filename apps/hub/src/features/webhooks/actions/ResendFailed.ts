import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { waitAgain } from '../resend.ts'
import { lockWebhook } from '../webhook-rows.ts'

/** Sends all messages once more that have failed since a time, oldest first, as far as there is room among those that wait. */
export const webhooks_ResendFailed = handler(
  'webhooks_ResendFailed',
  async ({ tx, events, changed, services, afterCommit }, { webhookId, since }) => {
    const { organization_id: organizationId, name, format, waiting } = await lockWebhook(tx, webhookId)
    const limit = format === 'otlp' ? 'project-export-waiting-events' : 'webhook-waiting-messages'
    const room = Math.max(0, services.limits[limit] - waiting)
    const failed = sql<boolean>`d.state = 'Failed' and d.created_at >= ${since}::timestamptz`
    const messageCount = await waitAgain(tx, webhookId, failed, room)
    await events.emit('webhooks_MessagesResent', { organizationId, webhookId, name, messageCount })
    changed('webhooks')
    afterCommit(() => services.deliverer.wake())
    return { messageCount }
  },
)
