import { ActionError } from '@muster/actions'
import { handler } from '../../../platform/pipeline/handler.ts'
import { countReferences } from '../repositories.ts'

/** Deletes a blob that no version or package refers to. The job `repositories_SweepBlobs` removes its bytes. */
export const repositories_DeleteAsset = handler(
  'repositories_DeleteAsset',
  async ({ tx, scope, events, changed }, { assetId }) => {
    // Serializes the deletion with calls that add the blob to a version or package, because those calls lock the same row.
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
    const { digest, size_bytes: sizeBytes } = await tx
      .deleteFrom('asset')
      .where('asset_id', '=', assetId)
      .returning(['digest', 'size_bytes'])
      .executeTakeFirstOrThrow()
    await events.emit(
      'repositories_AssetDeleted',
      { repositoryId: scope.repositoryId!, assetId },
      { old: { digest, sizeBytes } },
    )
    changed('packages')
    return {}
  },
)
