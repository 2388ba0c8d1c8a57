import { handler } from '../../handler.ts'

/** Returns the object store of a repository without its secret. All strings are empty if the repository has no object store. */
export const repositories_GetS3Config = handler(
  'repositories_GetS3Config',
  async ({ db, services }, { repositoryId }) => {
    const store = await services.blobs.stores.ofRepository(db, repositoryId)
    if (!store) return { s3Config: { endpoint: '', bucket: '', accessKeyId: '' } }
    const { endpoint, bucket, region, prefix, forcePathStyle, accessKeyId } = store
    return {
      s3Endpoint: endpoint,
      s3Bucket: bucket,
      s3Region: region,
      s3Prefix: prefix,
      s3AccessKeyId: accessKeyId,
      s3Config: { endpoint, bucket, region, prefix, forcePathStyle, accessKeyId },
    }
  },
)
