import { nameKey } from '@muster/predicates/name-key'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Renames a project. */
export const projects_SetName = handler(
  'projects_SetName',
  async ({ tx, events, changed }, { projectId, name }) => {
    const before = await tx
      .selectFrom('project')
      .where('project_id', '=', projectId)
      .select('name')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('project')
      .set({ name, name_key: nameKey(name) })
      .where('project_id', '=', projectId)
      .execute()
    await events.emit('projects_NameChanged', { projectId, name }, { old: before })
    changed('projects')
    return {}
  },
)
