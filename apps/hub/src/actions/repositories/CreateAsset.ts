import { ActionError, newId } from '@muster/actions'
import { sql } from 'kysely'
import { handler } from '../../handler.ts'

/** Two who register a digest at once meet at its unique index, and the later one finds it in its next attempt. */
export const repositories_CreateAsset = handler(
  'repositories_CreateAsset',
  async ({ tx, services, events, changed }, { repositoryId, size, digest }) => {
    const known = await tx
      .selectFrom('asset')
      .where('repository_id', '=', repositoryId)
      .where('digest', '=', digest)
      .select(['asset_id', 'size_bytes', 'status', 'store_id', 'object_key'])
      .forUpdate()
      .executeTakeFirst()
    if (known && known.size_bytes !== size)
      throw new ActionError(
        'Invalid',
        `size: found ${size}, expected ${known.size_bytes}, which is what the blob of this digest was registered with.`,
      )
    if (known?.status === 'Available') return { result: 'AssetAlreadyExists', assetId: known.asset_id }
    const newAssetId = newId('repo_a')
    const place = await services.blobs.placeFor(tx, repositoryId, newAssetId, size)
    if (!known) {
      await tx
        .insertInto('asset')
        .values({
          asset_id: newAssetId,
          repository_id: repositoryId,
          size_bytes: size,
          digest,
          store_id: place.storeId,
          object_key: place.objectKey,
        })
        .execute()
      await events.emit('repositories_AssetCreated', { repositoryId, assetId: newAssetId })
      changed('packages')
      return { result: 'Created', assetId: newAssetId }
    }
    // What was never uploaded goes where blobs of the repository go by now, since the place before may not work any more: under a key
    // that no upload to another place is under way to.
    const { asset_id: assetId, store_id: storeId, object_key: objectKey } = known
    const isElsewhere = storeId !== place.storeId
    if (isElsewhere && storeId !== null)
      await sql`insert into blob_removal (asset_id, store_id, object_key, not_before)
        values (${assetId}, ${storeId}, ${objectKey}, now() + interval '3 hours')`.execute(tx)
    await tx
      .updateTable('asset')
      // It has a whole day again before it counts as never uploaded.
      .set({
        created_at: sql<Date>`now()`,
        ...(isElsewhere && { store_id: place.storeId, object_key: place.objectKey }),
      })
      .where('asset_id', '=', assetId)
      .execute()
    return { result: 'AssetAlreadyExists', assetId }
  },
)
