import { ActionError } from '@muster/actions'
import { countReferences } from '../../database/queries/repositories/repositories.ts'
import { handler } from '../../handler.ts'

export const repositories_DeleteAsset = handler(
  'repositories_DeleteAsset',
  async ({ tx, scope, events, changed }, { assetId }) => {
    // Whoever puts it into a version at this moment waits, or was first.
    await tx
      .selectFrom('asset')
      .where('asset_id', '=', assetId)
      .select('asset_id')
      .forUpdate()
      .executeTakeFirstOrThrow()
    const referenceCount = await countReferences(tx, assetId)
    if (referenceCount > 0)
      throw new ActionError(
        'Invalid',
        `This blob is ${referenceCount === 1 ? 'a file' : `${referenceCount} files`} of versions or packages: take it out of them first.`,
        { status: 409 },
      )
    await tx.deleteFrom('asset').where('asset_id', '=', assetId).execute()
    await events.emit('repositories_AssetDeleted', { repositoryId: scope.repositoryId!, assetId })
    changed('packages')
    return {}
  },
)
