import { ActionError } from '@muster/actions'
import { handler } from '../../handler.ts'

/**
 * Sets the properties that are pinned on the device pages of a project for everyone, in the given order. Throws `Invalid` (409) for a
 * property that is there twice, since a JSON schema cannot tell that only names must differ.
 */
export const projects_SetPinnedProperties = handler(
  'projects_SetPinnedProperties',
  async ({ tx, events, changed }, { projectId, properties }) => {
    const names = properties.map(({ name }) => name)
    const twice = names.find((name, index) => names.indexOf(name) < index)
    if (twice !== undefined) {
      const message = `Found the property ${twice} twice, expected it once.`
      throw new ActionError('Invalid', message, { status: 409, issues: [{ path: 'properties', message }] })
    }
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
