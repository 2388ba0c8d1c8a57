import { handler } from '../../../platform/pipeline/handler.ts'
import { shownSettings } from '../../../platform/storage/object-stores.ts'

/** Returns the object store of a repository without its secret. All strings are empty if the repository has no object store. */
export const repositories_GetS3Config = handler(
  'repositories_GetS3Config',
  async ({ db, services }, { repositoryId }) => {
    const store = await services.blobs.stores.ofRepository(db, repositoryId)
    if (!store) return { s3Config: { endpoint: '', bucket: '', accessKeyId: '' } }
    const s3Config = shownSettings(store)
    const { endpoint, bucket, region, prefix, accessKeyId } = s3Config
    return {
      s3Endpoint: endpoint,
      s3Bucket: bucket,
      s3Region: region,
      s3Prefix: prefix,
      s3AccessKeyId: accessKeyId,
      s3Config,
    }
  },
)
