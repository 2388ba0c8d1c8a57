import { newId } from '@muster/actions'
import { requirePerson } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { requireRoomForView } from '../room-for-views.ts'
import { columnsOf } from '../saved-views.ts'

/** Saves a view. The audit log has events of shared views only: nobody else learns of a private one. */
export const views_Create = handler(
  'views_Create',
  async ({ tx, events, changed, services, caller }, input) => {
    const { projectId, name, isShared } = input
    const columns = columnsOf(input)
    const { userId } = requirePerson(caller)
    await requireRoomForView(tx, services, { projectId, userId }, isShared)
    const viewId = newId('view')
    await tx
      .insertInto('device_view')
      .values({
        view_id: viewId,
        project_id: projectId,
        owner_id: userId,
        ...columns,
      })
      .execute()
    if (isShared) await events.emit('views_Created', { projectId, viewId, name })
    changed('views')
    return { viewId }
  },
)
