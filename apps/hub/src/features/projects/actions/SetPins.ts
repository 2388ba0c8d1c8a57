import { refusal } from '../../../platform/access/authorize.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Stores the properties that the caller has pinned on the device pages of a project. */
export const projects_SetPins = handler(
  'projects_SetPins',
  async ({ db, caller }, { projectId, properties }) => {
    const person = personOf(caller)
    if (!person) throw refusal()
    const pins = { pinned_properties: JSON.stringify(properties) }
    await db
      .insertInto('user_view')
      .values({ user_id: person.userId, project_id: projectId, ...pins })
      .onConflict(conflict => conflict.columns(['user_id', 'project_id']).doUpdateSet(pins))
      .execute()
    return {}
  },
)
