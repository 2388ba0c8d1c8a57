import { handler } from '../../../platform/pipeline/handler.ts'

/** Whether the feed of an organization is on. */
export const events_GetFeed = handler('events_GetFeed', async ({ db }, { organizationId }) => {
  const row = await db
    .selectFrom('outbox_reader')
    .where('organization_id', '=', organizationId)
    .select('feed_epoch')
    .executeTakeFirst()
  return { isOn: row !== undefined && row.feed_epoch !== null }
})
