import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { webhookOf, webhookRows } from '../webhook-rows.ts'

const SORTS = {
  name: { by: sql`w.name`, type: 'text' },
  createdAt: { by: sql`w.created_at`, type: 'timestamptz' },
} as const

/** Lists the webhooks of an organization. */
export const webhooks_Query = handler(
  'webhooks_Query',
  async ({ db }, { organizationId, filter, ...page }) => {
    const query = webhookRows(db)
      .where('w.organization_id', '=', organizationId)
      .where(matchesText(filter?.text, sql`w.name`, sql`w.webhook_id`))
    const { rows, ...rest } = await queryPage(query, page, SORTS, sql`w.webhook_id`, 'name')
    return { webhooks: rows.map(webhookOf), ...rest }
  },
)
