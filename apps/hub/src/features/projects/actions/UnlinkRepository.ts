import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { repositoryToLink } from '../../repositories/index.ts'

/** Removes the link of a project to a repository. The devices of the project can then read the repository only while it is public. */
export const projects_UnlinkRepository = handler(
  'projects_UnlinkRepository',
  async ({ tx, caller, events, changed }, { projectId, repositoryId }) => {
    const repository = await repositoryToLink(tx, caller, repositoryId)
    // An absent repository and an absent link get the same refusal, so that callers cannot find out which repositories exist.
    if (!repository) throw refusal()
    await tx
      .deleteFrom('project_repository')
      .where('project_id', '=', projectId)
      .where('repository_id', '=', repositoryId)
      .returning('project_id')
      .executeTakeFirstOrThrow()
    const isForRepository = repository.isOwn || !repository.isPublic
    await events.emit('projects_RepositoryRemoved', { projectId, repositoryId }, { isForRepository })
    changed('links', { repositoryId })
    return {}
  },
)
