import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { getAsset } from '../../../platform/storage/assets.ts'

/** Issues signed URLs for uploading a blob. Runs outside of a transaction, because it may have to probe an object store. */
export const repositories_IssueAssetUploadUrl = handler('repositories_IssueAssetUploadUrl', {
  prepare: async ({ db, caller, services }, { assetId }) => {
    const asset = await getAsset(db, assetId)
    const urls = await services.blobs.uploadUrls(asset, personOf(caller)?.userId)
    return async () => urls
  },
})
