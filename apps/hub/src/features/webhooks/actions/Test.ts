import { ActionError, newDatedId } from '@muster/actions'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { testMessage } from '../special-messages.ts'
import { openTarget, readWebhook } from '../webhook-rows.ts'

/** Sends a test message, which the log of attempts has too. A failure counts for nothing. */
export const webhooks_Test = handler('webhooks_Test', {
  prepare: async ({ db, services, signal }, { webhookId }) => {
    const { sender, secretBox } = services.webhookParts
    const row = await readWebhook(db, webhookId)
    if (!row) throw refusal()
    const target = openTarget(secretBox, row)
    if (!target)
      throw new ActionError('Invalid', 'The address cannot be read with the instance key: set it again.', {
        status: 409,
      })
    const { organization_id: organizationId, name } = row
    const message = testMessage({ organizationId, webhookId, name }, newDatedId('msg'))
    const at = new Date()
    const test = await sender.send(target, target.secrets, message, signal)
    return async ({ tx, events, changed }) => {
      await tx
        .insertInto('webhook_attempt')
        .values({
          webhook_id: webhookId,
          message_id: message.messageId,
          attempt: 1,
          type: message.type,
          attempted_at: at,
          took_ms: test.tookMs,
          status: test.status ?? null,
          error: test.error ?? null,
          answer: test.answer ?? null,
        })
        .execute()
      await events.emit('webhooks_Tested', {
        organizationId,
        webhookId,
        name,
        ...(test.status !== undefined && { status: test.status }),
      })
      changed('webhooks')
      return { test }
    }
  },
})
