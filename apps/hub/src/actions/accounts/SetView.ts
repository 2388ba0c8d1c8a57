import { refusal } from '../../access/authorize.ts'
import { personOf } from '../../caller.ts'
import { handler } from '../../handler.ts'

/** Stores the columns and the sort order that the caller has chosen for the device list of a project. */
export const users_SetView = handler(
  'users_SetView',
  async ({ db, caller }, { projectId, columns, nameWidthPx, order }) => {
    const person = personOf(caller)
    if (!person) throw refusal()
    const view = {
      columns: columns === undefined ? null : JSON.stringify(columns),
      name_width_px: nameWidthPx ?? null,
      sort: order ?? null,
    }
    await db
      .insertInto('user_view')
      .values({ user_id: person.userId, project_id: projectId, ...view })
      .onConflict(conflict => conflict.columns(['user_id', 'project_id']).doUpdateSet(view))
      .execute()
    return {}
  },
)
