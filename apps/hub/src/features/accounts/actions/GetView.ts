import { type HandlerOutput, isColumnPath } from '@muster/actions'
import { actorId } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

type Columns = NonNullable<HandlerOutput<'users_GetView'>['columns']>

/**
 * Returns the columns and the sort order that the caller has chosen for the device list of a project. Leaves out paths that are too long
 * for a column, which an older release accepted.
 */
export const users_GetView = handler('users_GetView', async ({ db, caller }, { projectId }) => {
  const view = await db
    .selectFrom('user_view')
    .where('user_id', '=', actorId(caller))
    .where('project_id', '=', projectId)
    .select(['columns', 'name_width_px', 'sort'])
    .executeTakeFirst()
  const columns = (view?.columns ?? undefined) as Columns | undefined
  const tooLong = columns?.filter(column => 'property' in column && !isColumnPath(column.property)) ?? []
  const order = view?.sort ?? undefined
  const sorted = order === undefined ? undefined : /^-?=(.+)$/.exec(order)?.[1]
  const isOrderTooLong = sorted !== undefined && !isColumnPath(sorted)
  const leftOut = [
    ...tooLong.flatMap(column => ('property' in column ? column.property : [])),
    ...(isOrderTooLong ? [sorted] : []),
  ]
  return {
    columns: columns?.filter(column => !tooLong.includes(column)),
    nameWidthPx: view?.name_width_px ?? undefined,
    order: isOrderTooLong ? undefined : order,
    ...(leftOut.length > 0 && { leftOut: [...new Set(leftOut)] }),
  }
})
