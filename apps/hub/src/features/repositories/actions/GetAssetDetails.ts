import { handler } from '../../../platform/pipeline/handler.ts'
import { type AssetStatus, countReferences, storageOf } from '../repositories.ts'

/** Returns size, digest and status of a blob, and the number of files that use it. */
export const repositories_GetAssetDetails = handler(
  'repositories_GetAssetDetails',
  async ({ db, scope }, { assetId }) => {
    const row = await db
      .selectFrom('asset')
      .where('asset_id', '=', assetId)
      .select(['repository_id', 'size_bytes', 'digest', 'status'])
      .select(['storage_status', 'storage_checked_at', 'storage_detail'])
      .executeTakeFirstOrThrow()
    return {
      assetId,
      repositoryId: row.repository_id,
      size: row.size_bytes,
      digest: row.digest,
      status: row.status as AssetStatus,
      referenceCount: await countReferences(db, assetId),
      storage: storageOf(row, scope),
    }
  },
)
