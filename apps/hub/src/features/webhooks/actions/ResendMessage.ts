import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { waitAgain } from '../resend.ts'
import { lockWebhook } from '../webhook-rows.ts'

/** A message that a person names waits again whatever waits already. */
const MAX_ITEMS = Number.MAX_SAFE_INTEGER

/** Sends a message once more, with the same id. Throws `Invalid` (409) for one that waits, was for another webhook, or is gone. */
export const webhooks_ResendMessage = handler(
  'webhooks_ResendMessage',
  async ({ tx, events, changed, services, afterCommit }, { webhookId, messageId }) => {
    const { organization_id: organizationId, name } = await lockWebhook(tx, webhookId)
    const messageCount = await waitAgain(tx, webhookId, sql<boolean>`d.message_id = ${messageId}`, MAX_ITEMS)
    if (messageCount === 0) {
      const message =
        'Found no message with this id that was delivered or has failed: it waits, was a test, or is gone.'
      throw new ActionError('Invalid', message, { status: 409, issues: [{ path: 'messageId', message }] })
    }
    await events.emit('webhooks_MessagesResent', { organizationId, webhookId, name, messageCount })
    changed('webhooks')
    afterCommit(() => services.deliverer.wake())
    return {}
  },
)
