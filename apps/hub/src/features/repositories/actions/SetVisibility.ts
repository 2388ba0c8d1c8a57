import { handler } from '../../../platform/pipeline/handler.ts'
import { unlinkOtherOrganizations } from '../repository-links.ts'

/** Makes a repository public or private. */
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
    await events.emit('repositories_VisibilityChanged', { repositoryId, visibility }, { old: before })
    // While the repository was public, any organization could link it. After the change to private, the links of other
    // organizations must not give access.
    if (visibility === 'Private') await unlinkOtherOrganizations(context, repositoryId, scope.organizationId!)
    changed('repositories')
    return {}
  },
)
