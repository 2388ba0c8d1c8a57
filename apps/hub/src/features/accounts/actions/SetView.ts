import { requirePerson } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { requireListColumns } from '../../../platform/pipeline/input-rules.ts'

/**
 * Stores the columns and the sort order that the caller has chosen for the device list of a project. Throws `Invalid` (409) for a column
 * that is there twice and for too many columns of properties.
 */
export const users_SetView = handler(
  'users_SetView',
  async ({ db, caller }, { projectId, columns, nameWidthPx, order }) => {
    const { userId } = requirePerson(caller)
    requireListColumns(columns)
    const view = {
      columns: columns === undefined ? null : JSON.stringify(columns),
      name_width_px: nameWidthPx ?? null,
      sort: order ?? null,
    }
    await db
      .insertInto('user_view')
      .values({ user_id: userId, project_id: projectId, ...view })
      .onConflict(conflict => conflict.columns(['user_id', 'project_id']).doUpdateSet(view))
      .execute()
    return {}
  },
)
