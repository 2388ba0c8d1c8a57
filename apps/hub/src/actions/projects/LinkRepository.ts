import { refusal } from '../../access/authorize.ts'
import { personOf } from '../../caller.ts'
import { handler } from '../../handler.ts'

export const projects_LinkRepository = handler(
  'projects_LinkRepository',
  async ({ tx, caller, events, changed }, { projectId, repositoryId }) => {
    // Shared with nobody who makes it private or moves it away meanwhile, and would have to end this link.
    const repository = await tx
      .selectFrom('repository as r')
      .leftJoin('organization_member as m', join =>
        join
          .onRef('m.organization_id', '=', 'r.organization_id')
          .on('m.user_id', '=', personOf(caller)?.userId ?? ''),
      )
      .where('r.repository_id', '=', repositoryId)
      .select(['r.visibility', 'm.user_id'])
      .forShare('r')
      .executeTakeFirst()
    if (!repository) throw refusal()
    const mayRead = repository.visibility === 'Public' || repository.user_id !== null
    if (!mayRead && caller.actor !== 'System') throw refusal()
    const made = await tx
      .insertInto('project_repository')
      .values({ project_id: projectId, repository_id: repositoryId })
      .onConflict(conflict => conflict.doNothing())
      .returning('project_id')
      .executeTakeFirst()
    if (!made) return {}
    await events.emit('projects_RepositoryAdded', { projectId, repositoryId })
    changed('links', { repositoryId })
    return {}
  },
)
