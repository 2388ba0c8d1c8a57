import { personOf } from '../../caller.ts'
import { handler } from '../../handler.ts'

/** Returns the properties that the caller has pinned in a project. */
export const projects_GetPins = handler('projects_GetPins', async ({ db, caller }, { projectId }) => {
  const pins = await db
    .selectFrom('pinned_properties')
    .where('user_id', '=', personOf(caller)?.userId ?? '')
    .where('project_id', '=', projectId)
    .select('properties')
    .executeTakeFirst()
  return { properties: (pins?.properties ?? []) as string[] }
})
