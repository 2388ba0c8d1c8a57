import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { actorNames } from '../../audit/index.ts'
import { viewOf, visibleViews } from '../saved-views.ts'

/** Returns a view that the caller sees. Throws `Forbidden` for others, as for a view that does not exist. */
export const views_Get = handler('views_Get', async ({ db, caller, scope }, { projectId, viewId }) => {
  const row = await visibleViews(db, caller, projectId).where('v.view_id', '=', viewId).executeTakeFirst()
  if (!row) throw refusal()
  if (!row.deleted_at) return { result: 'Found' as const, view: viewOf(row, scope) }
  const actor = row.deleted_by as { userId?: string }
  const names = await actorNames(db, actor.userId ? [actor.userId] : [])
  return {
    result: 'Deleted' as const,
    name: row.name,
    deletedAt: wireTime(row.deleted_at),
    actor: actor as never,
    actorName: names.get(actor.userId ?? ''),
  }
})
