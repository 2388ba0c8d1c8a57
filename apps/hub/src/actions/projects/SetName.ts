import { handler } from '../../handler.ts'

/** Renames a project. */
export const projects_SetName = handler(
  'projects_SetName',
  async ({ tx, events, changed }, { projectId, name }) => {
    await tx
      .updateTable('project')
      .set({ name })
      .where('project_id', '=', projectId)
      .returning('project_id')
      .executeTakeFirstOrThrow()
    await events.emit('projects_NameChanged', { projectId, name })
    changed('projects')
    return {}
  },
)
