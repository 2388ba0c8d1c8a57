import { handler } from '../../../platform/pipeline/handler.ts'
import { shownSettings } from '../../../platform/storage/object-stores.ts'

/** Stops storing new blobs of a repository in the object store of its S3 configuration. Existing blobs stay in that store. */
export const repositories_RemoveS3Config = handler(
  'repositories_RemoveS3Config',
  async ({ tx, events, changed, services }, { repositoryId }) => {
    const removed = await services.blobs.stores.lockOfRepository(tx, repositoryId)
    if (!removed) return {}
    await tx
      .updateTable('repository')
      .set({ store_id: null })
      .where('repository_id', '=', repositoryId)
      .execute()
    await events.emit(
      'repositories_S3ConfigChanged',
      { repositoryId },
      { old: { s3Config: shownSettings(removed) } },
    )
    changed('repositories')
    return {}
  },
)
