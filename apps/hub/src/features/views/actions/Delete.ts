import { sql } from 'kysely'
import { requirePerson } from '../../../platform/access/authorize.ts'
import { wireActor } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { lockOwnView } from '../saved-views.ts'

/** Deletes a view. Its row is kept for some time, so that a link to it says who has deleted it. */
export const views_Delete = handler(
  'views_Delete',
  async ({ tx, events, changed, caller }, { projectId, viewId }) => {
    const { name, is_shared: isShared } = await lockOwnView(
      tx,
      requirePerson(caller).userId,
      projectId,
      viewId,
    )
    await tx
      .updateTable('device_view')
      .set({ deleted_at: sql`now()`, deleted_by: JSON.stringify(wireActor(caller)) })
      .where('view_id', '=', viewId)
      .execute()
    if (isShared) await events.emit('views_Deleted', { projectId, viewId }, { old: { name } })
    changed('views')
    return {}
  },
)
