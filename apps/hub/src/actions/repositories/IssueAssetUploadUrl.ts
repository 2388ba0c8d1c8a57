import { handler } from '../../handler.ts'

export const repositories_IssueAssetUploadUrl = handler('repositories_IssueAssetUploadUrl', {
  prepare: async ({ db, services }, { assetId }) => {
    const urls = await services.blobs.uploadUrls(await services.blobs.get(db, assetId))
    return async () => urls
  },
})
