import { handler } from '../../../platform/pipeline/handler.ts'
import { requireDistinct } from '../../../platform/pipeline/input-rules.ts'

/**
 * Sets the properties that are pinned on the device pages of a project for everyone, in the given order. Throws `Invalid` (409) for a
 * property that is there twice.
 */
export const projects_SetPinnedProperties = handler(
  'projects_SetPinnedProperties',
  async ({ tx, events, changed }, { projectId, properties }) => {
    requireDistinct(
      'properties',
      'property',
      properties.map(({ name }) => name),
    )
    const before = await tx
      .selectFrom('project')
      .where('project_id', '=', projectId)
      .select('pinned_properties as properties')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('project')
      .set({ pinned_properties: JSON.stringify(properties) })
      .where('project_id', '=', projectId)
      .execute()
    await events.emit('projects_PinnedPropertiesChanged', { projectId, properties }, { old: before })
    changed('projects')
    return {}
  },
)
