import type { HandlerOutput } from '@muster/actions'
import { actorId } from '../../caller.ts'
import { handler } from '../../handler.ts'

/** Returns the columns and the sort order that the caller has chosen for the device list of a project. */
export const users_GetView = handler('users_GetView', async ({ db, caller }, { projectId }) => {
  const view = await db
    .selectFrom('user_view')
    .where('user_id', '=', actorId(caller))
    .where('project_id', '=', projectId)
    .select(['columns', 'name_width_px', 'sort'])
    .executeTakeFirst()
  return {
    columns: (view?.columns ?? undefined) as HandlerOutput<'users_GetView'>['columns'],
    nameWidthPx: view?.name_width_px ?? undefined,
    order: view?.sort ?? undefined,
  }
})
