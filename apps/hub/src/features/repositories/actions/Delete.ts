import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { deleteRepositories } from '../deletion.ts'

/** Deletes a repository with its packages, versions, blobs and links. */
export const repositories_Delete = handler(
  'repositories_Delete',
  async ({ tx, scope, events, changed }, { repositoryId }) => {
    const before = await tx
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select('display_name')
      .executeTakeFirst()
    await deleteRepositories(tx, sql`repository_id = ${repositoryId}`)
    await events.emit(
      'repositories_Deleted',
      { repositoryId, organizationId: scope.organizationId! },
      { old: { name: before?.display_name } },
    )
    changed('repositories')
    changed('links')
    return {}
  },
)
