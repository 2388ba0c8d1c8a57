import { ActionError, type ParsedInput } from '@muster/actions'
import { handler } from '../../../platform/pipeline/handler.ts'
import { AddressRefused } from '../../../platform/storage/guarded-http-client.ts'
import { shownSettings } from '../../../platform/storage/object-stores.ts'
import { S3Failure } from '../../../platform/storage/s3.ts'
import { normalS3Settings } from '../../../platform/storage/s3-settings.ts'

/** Sets the object store for new blobs of a repository, after probing it. With `skipTest`, the first upload probes it. */
export const repositories_SetS3Config = handler('repositories_SetS3Config', {
  // The store is probed before the transaction, so that a slow store holds no transaction open.
  prepare: async ({ db, services }, input) => {
    const { repositoryId, skipTest = false } = input
    const { stores } = services.blobs
    const before = await stores.ofRepository(db, repositoryId)
    const { secret, ...wanted } = settingsOf(input)
    const { secretAccessKey, ...place } = normalS3Settings({ ...wanted, secretAccessKey: secret ?? '' })
    // The stored secret is kept only for the same endpoint and key id. Otherwise a member could make the hub sign requests to
    // any host with the stored secret.
    const mayKeep = before?.endpoint === place.endpoint && before.accessKeyId === place.accessKeyId
    const kept = secretAccessKey || (mayKeep ? stores.secretOf(before) : undefined)
    if (!kept)
      throw new ActionError(
        'Invalid',
        before && !mayKeep
          ? 's3SecretAccessKey: expected the secret, because the endpoint or the access key id is another than before.'
          : 's3SecretAccessKey: expected the secret.',
        { status: 409 },
      )
    const settings = { ...place, secretAccessKey: kept }
    const probe = () =>
      stores
        .connect(settings)
        .probe(settings.prefix)
        .catch((error: unknown) => {
          if (!(error instanceof S3Failure || error instanceof AddressRefused)) throw error
          const message = `The object storage cannot be used: ${error.message}`
          throw new ActionError('Invalid', message, { status: 409, cause: error })
        })
    const probed = skipTest ? {} : await probe()
    return async ({ tx, events, changed }) => {
      const replaced = await stores.lockOfRepository(tx, repositoryId)
      // For the same bucket the row of the store is updated, so its blobs are read with the new keys. Another bucket gets a new
      // row, and blobs in the earlier bucket are still read with the earlier keys.
      const isSamePlace = before?.endpoint === place.endpoint && before.bucket === place.bucket
      const savedId = await stores.save(tx, {
        ...settings,
        ...probed,
        ...(isSamePlace && { storeId: before.storeId }),
      })
      await tx
        .updateTable('repository')
        .set({ store_id: savedId })
        .where('repository_id', '=', repositoryId)
        .execute()
      await events.emit(
        'repositories_S3ConfigChanged',
        { repositoryId },
        { old: { s3Config: replaced && shownSettings(replaced) } },
      )
      changed('repositories')
      return {}
    }
  },
})

/** Reads the settings as newer clients (`s3Config`) or older clients (separate fields) send them (docs/api.md 2.1). */
function settingsOf(input: ParsedInput<'repositories_SetS3Config'>) {
  const { s3Config } = input
  if (s3Config) {
    const { endpoint, bucket, region, prefix, forcePathStyle = true, accessKeyId, secretAccessKey } = s3Config
    return { endpoint, bucket, region, prefix, forcePathStyle, accessKeyId, secret: secretAccessKey }
  }
  return {
    endpoint: input.s3Endpoint!,
    bucket: input.s3Bucket!,
    region: input.s3Region,
    prefix: input.s3Prefix,
    forcePathStyle: true,
    accessKeyId: input.s3AccessKeyId!,
    secret: input.s3SecretAccessKey,
  }
}
