import type { webhooks } from '@muster/actions'
import { READERS, type Rows, type World } from './row.ts'

/** Turns the feed of the organization on. */
async function feedOn({ hub, organizationId }: World): Promise<string> {
  await hub.pool.query(
    `insert into outbox_reader (organization_id, is_copied, feed_epoch) values ($1, true, 'e')
     on conflict (organization_id) do update set is_copied = true, feed_epoch = 'e'`,
    [organizationId],
  )
  return organizationId
}

export const webhookRows: Rows<typeof webhooks> = {
  events_Query: {
    input: async world => ({
      organizationId: await feedOn(world),
      projectId: world.projectId,
      types: ['webhooks.*'],
      from: 'Now',
    }),
    may: READERS,
  },
  events_GetFeed: { input: ({ organizationId }) => ({ organizationId }), may: READERS },
  events_SetFeed: {
    input: ({ organizationId }) => ({ organizationId, isOn: true }),
    may: ['organizationAdmin'],
  },
}
