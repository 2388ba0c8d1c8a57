import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { getAsset, markAvailable } from '../../../platform/storage/assets.ts'

/** Checks the uploaded bytes of a blob outside of a transaction, then makes the blob available. */
export const repositories_FinalizeAssetUpload = handler('repositories_FinalizeAssetUpload', {
  prepare: async ({ db, caller, services }, { assetId }) => {
    const asset = await getAsset(db, assetId)
    if (asset.status === 'Available') return async () => ({})
    const sha256 = await services.blobs.uploads.check(asset, personOf(caller)?.userId)
    return async ({ tx, events, changed }) => {
      await markAvailable(tx, asset, sha256, events)
      changed('packages')
      return {}
    }
  },
})
