import { newDatedId } from '@muster/actions'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { lockReader } from '../feed.ts'
import { farewellMessage } from '../special-messages.ts'
import { lockWebhook, openTarget, readWebhook } from '../webhook-rows.ts'

/** Time in milliseconds that the last message may take. */
const FAREWELL_MS = 5_000

/** Deletes a webhook. Its receiver gets `webhook.deleted` before, unless it is a collector; messages that wait are dropped. */
export const webhooks_Delete = handler('webhooks_Delete', {
  prepare: async ({ db, services, signal }, { webhookId }) => {
    const { sender, secretBox } = services.webhookParts
    const before = await readWebhook(db, webhookId)
    if (!before) throw refusal()
    const target = openTarget(secretBox, before)
    const about = { organizationId: before.organization_id, webhookId, name: before.name }
    if (target && target.format !== 'otlp' && before.is_enabled && before.held_at === null)
      await sender.send(
        target,
        target.secrets,
        farewellMessage(about, newDatedId('msg')),
        signal,
        FAREWELL_MS,
      )
    return async ({ tx, events, changed, afterCommit }) => {
      await lockReader(tx, before.organization_id)
      const { organization_id: organizationId, name } = await lockWebhook(tx, webhookId)
      // Before the deletion, so that the feed has it even if this was the last reader that made events be copied.
      await events.emit('webhooks_Deleted', { organizationId, webhookId, name })
      await tx.deleteFrom('webhook').where('webhook_id', '=', webhookId).execute()
      changed('webhooks')
      afterCommit(() => services.exporter.wake())
      return {}
    }
  },
})
