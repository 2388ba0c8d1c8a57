import { ActionError, newId } from '@muster/actions'
import { sql } from 'kysely'
import { handler } from '../../handler.ts'

export const repositories_CreateAsset = handler(
  'repositories_CreateAsset',
  async ({ tx, services, events, changed }, { repositoryId, size, digest }) => {
    const assetId = newId('repo_a')
    const place = await services.blobs.placeFor(tx, repositoryId, assetId, size)
    const created = await tx
      .insertInto('asset')
      .values({
        asset_id: assetId,
        repository_id: repositoryId,
        size_bytes: size,
        digest,
        store_id: place.storeId,
        object_key: place.objectKey,
      })
      .onConflict(conflict => conflict.columns(['repository_id', 'digest']).doNothing())
      .returning('asset_id')
      .executeTakeFirst()
    if (created) {
      await events.emit('repositories_AssetCreated', { repositoryId, assetId })
      changed('packages')
      return { result: 'Created', assetId }
    }
    const existing = await tx
      .selectFrom('asset')
      .where('repository_id', '=', repositoryId)
      .where('digest', '=', digest)
      .select(['asset_id', 'size_bytes', 'status', 'store_id', 'object_key'])
      .forUpdate()
      .executeTakeFirstOrThrow()
    if (existing.size_bytes !== size)
      throw new ActionError(
        'Invalid',
        `size: found ${size}, expected ${existing.size_bytes}, which is what the blob of this digest was registered with.`,
      )
    // What was never uploaded goes where blobs of the repository go by now; the place before may not work any more.
    if (existing.status !== 'Available' && existing.store_id !== place.storeId) {
      await sql`insert into blob_removal (asset_id, store_id, object_key, not_before)
        values (${existing.asset_id}, ${existing.store_id}, ${existing.object_key ?? ''}, now() + interval '3 hours')
        on conflict do nothing`.execute(tx)
      await tx
        .updateTable('asset')
        .set({
          store_id: place.storeId,
          object_key: place.objectKey?.replace(assetId, existing.asset_id) ?? null,
        })
        .where('asset_id', '=', existing.asset_id)
        .execute()
    }
    return { result: 'AssetAlreadyExists', assetId: existing.asset_id }
  },
)
