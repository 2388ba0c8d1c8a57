import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { readWebhook, webhookOf } from '../webhook-rows.ts'

/** Returns a webhook with its state. */
export const webhooks_GetDetails = handler('webhooks_GetDetails', async ({ db }, { webhookId }) => {
  const row = await readWebhook(db, webhookId)
  if (!row) throw refusal()
  const { rows } = await sql<{ attemptCount: number; successCount: number }>`
    select count(*)::int as "attemptCount", count(*) filter (where status between 200 and 299)::int as "successCount"
      from webhook_attempt where webhook_id = ${webhookId} and attempted_at > now() - interval '1 day'`.execute(
    db,
  )
  return { ...webhookOf(row), ...rows[0]! }
})
