import type { Db } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { getAsset } from '../../../platform/storage/assets.ts'
import type { Blobs } from '../../../platform/storage/blobs.ts'

/** Issues a signed URL for downloading a blob. */
export const repositories_IssueAssetDownloadUrl = handler('repositories_IssueAssetDownloadUrl', {
  byDevice: ({ db, services }, input) => issue(db, services.blobs, input),
  byOthers: ({ tx, services }, input) => issue(tx, services.blobs, input),
})

async function issue(
  db: Db,
  blobs: Blobs,
  { assetId, filename }: { assetId: string; filename?: string | undefined },
): Promise<{ url: string }> {
  return { url: await blobs.downloadUrl(db, await getAsset(db, assetId), filename) }
}
