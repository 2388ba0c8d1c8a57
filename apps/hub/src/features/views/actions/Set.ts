import { sql } from 'kysely'
import { requirePerson } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { requireRoomForView } from '../room-for-views.ts'
import { columnsOf, lockOwnView } from '../saved-views.ts'

/** Replaces what a view keeps. A shared view that becomes private belongs to the caller. */
export const views_Set = handler('views_Set', async ({ tx, events, changed, services, caller }, input) => {
  const { projectId, viewId, name, isShared } = input
  const columns = columnsOf(input)
  const { userId } = requirePerson(caller)
  const before = await lockOwnView(tx, userId, projectId, viewId)
  if (before.is_shared !== isShared) await requireRoomForView(tx, services, { projectId, userId }, isShared)
  await tx
    .updateTable('device_view')
    .set({
      ...columns,
      changed_at: sql`now()`,
      ...(!isShared && { owner_id: userId }),
    })
    .where('view_id', '=', viewId)
    .execute()
  if (before.is_shared || isShared)
    await events.emit('views_Changed', { projectId, viewId, name, isShared }, { old: { name: before.name } })
  changed('views')
  return {}
})
