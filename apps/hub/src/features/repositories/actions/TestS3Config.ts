import { handler } from '../../../platform/pipeline/handler.ts'
import { testObjectStore } from '../../../platform/storage/object-store-test.ts'
import { normalS3Settings } from '../../../platform/storage/s3-settings.ts'

/** Tests settings of an object store step by step, outside of the transaction. Saves nothing. */
export const repositories_TestS3Config = handler('repositories_TestS3Config', {
  prepare: async ({ services }, input) => {
    const settings = normalS3Settings({
      endpoint: input.s3Endpoint,
      bucket: input.s3Bucket,
      region: input.s3Region,
      prefix: input.s3Prefix,
      forcePathStyle: true,
      accessKeyId: input.s3AccessKeyId,
      secretAccessKey: input.s3SecretAccessKey,
    })
    const tested = await testObjectStore(services.blobs.stores.connect(settings), settings)
    return async () => tested
  },
})
