import { refusal } from '../../access/authorize.ts'
import { personOf } from '../../caller.ts'
import { handler } from '../../handler.ts'

/** Keeps the properties that the caller has pinned in a project. */
export const projects_SetPins = handler(
  'projects_SetPins',
  async ({ db, caller }, { projectId, ...input }) => {
    const person = personOf(caller)
    if (!person) throw refusal()
    const properties = JSON.stringify(input.properties)
    await db
      .insertInto('pinned_properties')
      .values({ user_id: person.userId, project_id: projectId, properties })
      .onConflict(conflict => conflict.columns(['user_id', 'project_id']).doUpdateSet({ properties }))
      .execute()
    return {}
  },
)
