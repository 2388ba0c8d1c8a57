import { handler } from '../../handler.ts'

/** Stops storing new blobs of a repository in the object store of its S3 configuration. Existing blobs stay in that store. */
export const repositories_RemoveS3Config = handler(
  'repositories_RemoveS3Config',
  async ({ tx, events, changed }, { repositoryId }) => {
    const { numUpdatedRows } = await tx
      .updateTable('repository')
      .set({ store_id: null })
      .where('repository_id', '=', repositoryId)
      .where('store_id', 'is not', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return {}
    await events.emit('repositories_S3ConfigChanged', { repositoryId })
    changed('repositories')
    return {}
  },
)
