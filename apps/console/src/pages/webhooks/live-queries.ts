import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about webhooks that live changes affect. */
export const webhookQueries = {
  webhooks_Query: { webhooks: 'organizationId' },
  webhooks_GetDetails: { webhooks: null },
  webhooks_QueryAttempts: { webhooks: null },
  projects_GetOtlpConfig: { webhooks: null },
} satisfies LiveQueries<'webhooks'>
