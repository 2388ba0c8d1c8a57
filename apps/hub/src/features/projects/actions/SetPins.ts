import { requirePerson } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Stores the properties that the caller has pinned on the device pages of a project. */
export const projects_SetPins = handler(
  'projects_SetPins',
  async ({ db, caller }, { projectId, properties }) => {
    const { userId } = requirePerson(caller)
    const pins = { pinned_properties: JSON.stringify(properties) }
    await db
      .insertInto('user_view')
      .values({ user_id: userId, project_id: projectId, ...pins })
      .onConflict(conflict => conflict.columns(['user_id', 'project_id']).doUpdateSet(pins))
      .execute()
    return {}
  },
)
