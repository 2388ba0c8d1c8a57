import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { repositoryToLink } from '../../repositories/index.ts'

/**
 * Lets the devices of a project read a repository. A public repository may belong to any organization. A private repository may
 * be linked only by members of the repository's organization. An existing link stays unchanged.
 */
export const projects_LinkRepository = handler(
  'projects_LinkRepository',
  async ({ tx, caller, events, changed }, { projectId, repositoryId }) => {
    const repository = await repositoryToLink(tx, caller, repositoryId)
    if (!repository) throw refusal()
    const { isPublic, isOwn } = repository
    if (!isPublic && !isOwn && caller.actor !== 'System') throw refusal()
    const inserted = await tx
      .insertInto('project_repository')
      .values({ project_id: projectId, repository_id: repositoryId })
      .onConflict(conflict => conflict.doNothing())
      .returning('project_id')
      .executeTakeFirst()
    if (!inserted) return {}
    // A link from another tenant to a public repository does not appear in the repository's audit log.
    const isForRepository = isOwn || !isPublic
    await events.emit('projects_RepositoryAdded', { projectId, repositoryId }, { isForRepository })
    changed('links', { repositoryId })
    return {}
  },
)
