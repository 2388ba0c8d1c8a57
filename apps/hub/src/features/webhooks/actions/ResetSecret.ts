import { FORMER_SECRET_HOURS } from '@muster/actions'
import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { lockWebhook, makeSecret } from '../webhook-rows.ts'

/** Makes a new signing secret. The one before signs too for a day, so that receivers can change it without missing a message. */
export const webhooks_ResetSecret = handler(
  'webhooks_ResetSecret',
  async ({ tx, events, changed, services }, { webhookId }) => {
    const { secretBox } = services.webhookParts
    const { organization_id: organizationId, name, secret } = await lockWebhook(tx, webhookId)
    const { signingSecret, sealed } = makeSecret(secretBox, webhookId)
    await tx
      .updateTable('webhook')
      .set({
        secret: sealed,
        former_secret: secret,
        former_until: sql`now() + make_interval(hours => ${FORMER_SECRET_HOURS})`,
        changed_at: sql`now()`,
      })
      .where('webhook_id', '=', webhookId)
      .execute()
    await events.emit('webhooks_SecretReset', { organizationId, webhookId, name })
    changed('webhooks')
    return { signingSecret }
  },
)
