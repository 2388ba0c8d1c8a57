import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../platform/access/authorize.ts'
import type { Scope } from '../../platform/access/scope.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { metadataOf } from './metadata.ts'
import { type AssetStatus, storageOf } from './repositories.ts'

/** Owner of files: a version of a package, or a package. */
type FileHolder = { of: 'version'; id: string } | { of: 'package'; id: string }

const TABLE = {
  version: {
    files: sql.table('version_asset'),
    holders: sql.table('package_version'),
    id: sql.ref('version_id'),
  },
  package: { files: sql.table('package_asset'), holders: sql.table('package'), id: sql.ref('package_id') },
}

type FileRow = {
  filename: string
  asset_id: string
  size_bytes: number
  digest: string
  status: string
  storage_status: string
  storage_checked_at: Date | null
  storage_detail: string | null
  metadata: Record<string, unknown>
}

/** Files of a version or a package, sorted by name. */
export async function filesOf(db: Db, { of, id }: FileHolder, scope: Scope) {
  const table = TABLE[of]
  const { rows } = await sql<FileRow>`
    select f.filename, f.asset_id, a.size_bytes, a.digest, a.status, a.storage_status, a.storage_checked_at,
           a.storage_detail, ${metadataOf('f.metadata')} as metadata
      from ${table.files} f join asset a on a.asset_id = f.asset_id
     where f.${table.id} = ${id}
     order by f.filename`.execute(db)
  return rows.map(row => ({
    filename: row.filename,
    assetId: row.asset_id,
    size: row.size_bytes,
    digest: row.digest,
    status: row.status as AssetStatus,
    storage: storageOf(row, scope),
    metadata: row.metadata,
  }))
}

/**
 * Adds a file to a version or a package. Resolves to false when the version or package has a file of that name already. Throws
 * `Invalid` for a blob of another repository or with the status `Deleting`, and for a name that would be both file and folder.
 * Throws `Forbidden` when the version or package no longer exists.
 */
export async function addFile(
  tx: Tx,
  { of, id }: FileHolder,
  file: { repositoryId: string; assetId: string; filename: string; metadata: string },
): Promise<boolean> {
  const table = TABLE[of]
  // Serializes additions to one version or package. Otherwise two concurrent additions could create `a` and `a/b`, a file and its folder.
  const holder = await sql`select from ${table.holders} where ${table.id} = ${id} for no key update`.execute(
    tx,
  )
  if (holder.rows.length === 0) throw refusal()
  const asset = await tx
    .selectFrom('asset')
    .where('asset_id', '=', file.assetId)
    .where('repository_id', '=', file.repositoryId)
    .where('status', '<>', 'Deleting')
    .select('asset_id')
    .forShare()
    .executeTakeFirst()
  if (!asset) throw new ActionError('Invalid', 'The asset is not one of the same repository.')
  const folders = file.filename.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'))
  const { rows } = await sql<{ filename: string }>`
    select filename from ${table.files}
     where ${table.id} = ${id}
       and (filename = any (${folders}) or starts_with(filename, ${`${file.filename}/`}))
     order by filename limit 1`.execute(tx)
  const [other] = rows
  if (other?.filename === file.filename) return false
  if (other) {
    const [folder, inside] = [other.filename, file.filename].sort((one, two) => one.length - two.length)
    throw new ActionError('Invalid', `"${folder}" cannot be a file and the folder of "${inside}" at once.`)
  }
  await sql`
    insert into ${table.files} (${table.id}, filename, asset_id, metadata)
    values (${id}, ${file.filename}, ${file.assetId}, ${file.metadata})`.execute(tx)
  return true
}

/**
 * Removes a file from a version or a package and returns the id of its blob. Throws `Invalid` with status 404 when there is no file of that
 * name.
 */
export async function removeFile(
  tx: Tx,
  { of, id }: FileHolder,
  filename: string,
): Promise<{ assetId: string }> {
  const table = TABLE[of]
  const { rows } = await sql<{ assetId: string }>`
    delete from ${table.files} where ${table.id} = ${id} and filename = ${filename}
    returning asset_id as "assetId"`.execute(tx)
  const [removed] = rows
  if (!removed) throw noSuchFile(of, filename)
  return removed
}

/**
 * Replaces the metadata of a file and returns the replaced metadata. Throws `Invalid` with status 404 when there is no file of that name.
 */
export async function setFileMetadata(
  tx: Tx,
  { of, id }: FileHolder,
  filename: string,
  metadata: string,
): Promise<{ metadata: Record<string, unknown> }> {
  const table = TABLE[of]
  const { rows } = await sql<{ metadata: Record<string, unknown> }>`
    select ${metadataOf('f.metadata')} as metadata from ${table.files} f
     where f.${table.id} = ${id} and f.filename = ${filename} for no key update`.execute(tx)
  const [before] = rows
  if (!before) throw noSuchFile(of, filename)
  await sql`
    update ${table.files} set metadata = ${metadata} where ${table.id} = ${id} and filename = ${filename}`.execute(
    tx,
  )
  return before
}

function noSuchFile(of: string, filename: string): ActionError {
  return new ActionError('Invalid', `The ${of} has no file named "${filename}".`, { status: 404 })
}
