import { ActionError, newId } from '@muster/actions'
import { sql } from 'kysely'
import type { Tx } from '../../../platform/database/client/connection.ts'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import type { Services } from '../../../platform/pipeline/services.ts'

/**
 * Registers a blob before its upload, or returns the existing blob with the same digest. When two calls register a digest
 * concurrently, the unique index rejects the later insert. That call is retried and finds the row.
 */
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
      await requireRoomForUpload(tx, services, repositoryId)
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
    // The blob was registered but never uploaded. It moves to the current store of the repository, because the store in its row
    // may no longer work. Its new key contains a new id, so no upload in flight writes to the same key.
    const { asset_id: assetId, store_id: storeId, object_key: objectKey } = known
    const isElsewhere = storeId !== place.storeId
    if (isElsewhere && storeId !== null)
      await sql`insert into blob_removal (asset_id, store_id, object_key, not_before)
        values (${assetId}, ${storeId}, ${objectKey}, now() + interval '3 hours')`.execute(tx)
    await tx
      .updateTable('asset')
      // The sweep job deletes blobs that were registered a day ago and never uploaded. A new `created_at` restarts that day.
      .set({
        created_at: sql<Date>`now()`,
        ...(isElsewhere && { store_id: place.storeId, object_key: place.objectKey }),
      })
      .where('asset_id', '=', assetId)
      .execute()
    return { result: 'AssetAlreadyExists', assetId }
  },
)

/**
 * Throws `LimitReached` when too many blobs of the repository wait for their bytes. Calls at the same moment do not count each other, so they
 * may exceed the limit by their number.
 */
async function requireRoomForUpload(tx: Tx, services: Services, repositoryId: string): Promise<void> {
  const waiting = await tx
    .selectFrom('asset')
    .where('repository_id', '=', repositoryId)
    .where('status', '<>', 'Available')
    .limit(services.limits['repository-waiting-blobs'])
    .select('asset_id')
    .execute()
  const remedy =
    'Upload blobs that are registered, or delete them. The hub deletes them a day after their registration.'
  requireRoom(services, 'repository-waiting-blobs', { repositoryId }, waiting.length, remedy)
}
