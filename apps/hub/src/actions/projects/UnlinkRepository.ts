import { handler } from '../../handler.ts'

export const projects_UnlinkRepository = handler(
  'projects_UnlinkRepository',
  async ({ tx, events, changed }, { projectId, repositoryId }) => {
    // What is not linked is refused like what is not there.
    await tx
      .deleteFrom('project_repository')
      .where('project_id', '=', projectId)
      .where('repository_id', '=', repositoryId)
      .returning('project_id')
      .executeTakeFirstOrThrow()
    await events.emit('projects_RepositoryRemoved', { projectId, repositoryId })
    changed('links', { repositoryId })
    return {}
  },
)
