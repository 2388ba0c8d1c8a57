import { unlinkOtherOrganizations } from '../../database/queries/repositories/repository-links.ts'
import { handler } from '../../handler.ts'

export const repositories_SetVisibility = handler(
  'repositories_SetVisibility',
  async (context, { repositoryId, visibility }) => {
    const { tx, scope, events, changed } = context
    const before = await tx
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select('visibility')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    if (before.visibility === visibility) return {}
    await tx.updateTable('repository').set({ visibility }).where('repository_id', '=', repositoryId).execute()
    await events.emit('repositories_VisibilityChanged', { repositoryId, visibility })
    // Whoever linked what everybody could read was not asked whether they may read what they cannot.
    if (visibility === 'Private') await unlinkOtherOrganizations(context, repositoryId, scope.organizationId!)
    changed('repositories')
    return {}
  },
)
