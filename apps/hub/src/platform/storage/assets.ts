import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../access/authorize.ts'
import { type Db, select, type Tx } from '../database/client/connection.ts'
import type { CommandTransaction } from '../pipeline/command-transaction.ts'
import { type Expected, sha256Of } from './digest.ts'

/** A registered blob. */
export type Asset = Expected & {
  assetId: string
  repositoryId: string
  organizationId: string
  status: string
  /** Object store of the blob, and the blob's key in that store. Both are null for a blob in the hub's folder. */
  storeId: string | null
  objectKey: string | null
  /** SHA-256 of an available blob that was registered with another digest algorithm, else null. */
  sha256: Buffer | null
}

const ASSET = `
  select a.asset_id as "assetId", a.repository_id as "repositoryId", r.organization_id as "organizationId",
         a.size_bytes as "sizeBytes", a.digest, a.status, a.store_id as "storeId", a.object_key as "objectKey", a.sha256
    from asset a join repository r on r.repository_id = a.repository_id
   where a.asset_id = $1`

/** Returns the blob with this id, if it exists. */
export async function findAsset(db: Db, assetId: string): Promise<Asset | undefined> {
  return (await select<Asset>(db, ASSET, [assetId]))[0]
}

/** Returns a blob that existed at the permission check. Throws `Forbidden` if it was deleted since. */
export async function getAsset(db: Db, assetId: string): Promise<Asset> {
  const asset = await findAsset(db, assetId)
  if (!asset) throw refusal()
  return asset
}

/** Locks the row of a blob until the transaction ends. Throws if the blob was deleted or moved to another store. */
export async function lockAsset(tx: Tx, { assetId, objectKey }: Asset): Promise<{ status: string }> {
  const row = await tx
    .selectFrom('asset')
    .where('asset_id', '=', assetId)
    .select(['status', 'object_key'])
    .forUpdate()
    .executeTakeFirst()
  if (!row) throw assetGone()
  if (row.object_key !== objectKey)
    throw new ActionError('Invalid', 'This blob lies in another place by now: ask for another address.', {
      status: 409,
    })
  return row
}

/** Makes a checked blob available and locks its row. Returns true if the blob was not available before. */
export async function markAvailable(
  tx: Tx,
  asset: Asset,
  sha256: Buffer,
  events: CommandTransaction['events'],
): Promise<boolean> {
  const before = await lockAsset(tx, asset)
  await tx
    .updateTable('asset')
    .set({
      status: 'Available',
      sha256: sha256Of(asset.digest) === undefined ? sha256 : null,
      storage_status: 'Verified',
      storage_checked_at: sql<Date>`now()`,
      storage_detail: null,
    })
    .where('asset_id', '=', asset.assetId)
    .execute()
  if (before.status === 'Available') return false
  const { repositoryId, assetId } = asset
  await events.emit('repositories_AssetAvailable', { repositoryId, assetId })
  return true
}

/** Stores the result of a check in the blob's row. Returns false if the blob has become available or was deleted. */
export async function noteCheck(
  db: Db,
  { assetId }: Asset,
  status: 'Missing' | 'Mismatched' | 'Error',
  detail?: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('asset')
    .set({ storage_status: status, storage_checked_at: sql<Date>`now()`, storage_detail: detail ?? null })
    .where('asset_id', '=', assetId)
    .where('status', '<>', 'Available')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns the SHA-256 of an available blob, in hex. */
export function sha256HexOf({ digest, sha256 }: Asset): string {
  return sha256Of(digest) ?? sha256!.toString('hex')
}

/** Throws `Invalid` (409) if the bytes of a blob have not been uploaded yet. */
export function requireAvailable({ status }: Asset): void {
  if (status !== 'Available')
    throw new ActionError('Invalid', 'The bytes of this blob have not been uploaded yet.', { status: 409 })
}

/** Error for a blob that was deleted. */
export function assetGone(): ActionError {
  return new ActionError('Invalid', 'This blob is gone.', { status: 404 })
}
