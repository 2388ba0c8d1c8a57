import { keepFormerName } from '../../database/queries/repositories/former-names.ts'
import { handler } from '../../handler.ts'

/**
 * Sets the display name of a repository. Without `displayName`, the slug becomes the display name, or the id if there is no slug.
 */
export const repositories_SetDisplayName = handler(
  'repositories_SetDisplayName',
  async ({ tx, events, changed }, { repositoryId, displayName: name }) => {
    const { display_name: from, slug } = await tx
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select(['display_name', 'slug'])
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    const displayName = name ?? slug ?? repositoryId
    await tx
      .updateTable('repository')
      .set({ display_name: displayName })
      .where('repository_id', '=', repositoryId)
      .execute()
    await keepFormerName(tx, repositoryId, { from, to: displayName, isSlug: false })
    await events.emit(
      'repositories_DisplayNameChanged',
      { repositoryId, displayName },
      { old: { displayName: from } },
    )
    changed('repositories')
    return {}
  },
)
