import { personOf } from '../../caller.ts'
import { handler } from '../../handler.ts'

/** Returns the properties that the caller has pinned in a project. */
export const projects_GetPins = handler('projects_GetPins', async ({ db, caller }, { projectId }) => {
  const pins = await db
    .selectFrom('user_view')
    .where('user_id', '=', personOf(caller)?.userId ?? '')
    .where('project_id', '=', projectId)
    .select('pinned_properties')
    .executeTakeFirst()
  return { properties: (pins?.pinned_properties ?? []) as string[] }
})
