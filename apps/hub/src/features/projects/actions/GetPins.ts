import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

type ProjectPin = { name: string; label?: string }

/** Returns the properties that are pinned on the device pages of a project: by the caller, and for everyone. */
export const projects_GetPins = handler('projects_GetPins', async ({ db, caller }, { projectId }) => {
  const pins = await db
    .selectFrom('project as p')
    .leftJoin('user_view as v', join =>
      join.onRef('v.project_id', '=', 'p.project_id').on('v.user_id', '=', personOf(caller)?.userId ?? ''),
    )
    .where('p.project_id', '=', projectId)
    .select(['v.pinned_properties as own', 'p.pinned_properties as ofProject'])
    .executeTakeFirst()
  return {
    properties: (pins?.own ?? []) as string[],
    projectProperties: (pins?.ofProject ?? []) as ProjectPin[],
  }
})
