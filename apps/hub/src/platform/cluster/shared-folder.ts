import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Db } from '../database/client/connection.ts'
import type { Logger } from '../runtime/log.ts'
import { blobFolder } from '../storage/local-folder.ts'
import { runningNodes } from './node.ts'

const SETTING = 'blob-folder'
/** File with the id of the folder. The job that removes unused files never removes it, because it looks at subfolders only. */
const MARKER = 'folder-id'

/**
 * Throws `ConfigError` when the nodes do not share one folder of repository files: files that one node stores would be missing on the
 * others. A marker file in the folder has an id that the database has as well. If no other node runs, the id in the database is replaced,
 * as after a move or a restored backup, and missing files are logged as a warning. Instances that have all files in object stores are
 * not checked.
 */
export async function requireSharedFolder(options: {
  db: Db
  config: Pick<Config, 'dataDir' | 's3'>
  nodeId: string
  log: Logger
}): Promise<void> {
  const { db, config, nodeId, log } = options
  const folder = blobFolder(config.dataDir)
  const file = await db
    .selectFrom('asset')
    .where('store_id', 'is', null)
    .where('status', '=', 'Available')
    .select('asset_id')
    .limit(1)
    .executeTakeFirst()
  if (config.s3 !== undefined && file === undefined) return
  const folderId = JSON.stringify(await markerOf(folder))
  const isAlone = (await runningNodes(db)).every(node => node.node_id === nodeId)
  const { rows } = await sql<{ isSame: boolean; isOther: boolean | null }>`
    with before as (select value from instance_setting where key = ${SETTING})
    insert into instance_setting as s (key, value) values (${SETTING}, ${folderId}::jsonb)
    on conflict (key) do update
      set value = case when ${isAlone}::boolean then excluded.value else s.value end
    returning value = ${folderId}::jsonb as "isSame",
      (select value from before) <> ${folderId}::jsonb as "isOther"`.execute(db)
  if (!rows[0]!.isSame)
    throw new ConfigError(
      `MUSTER_DATA_DIR: found ${folder}, which is not the folder that the running nodes share, expected the same folder for files on every node: mount or link it there before the start, or store files in an object storage (MUSTER_S3_ENDPOINT).`,
    )
  if (rows[0]!.isOther && file !== undefined)
    log.warn(
      { folder },
      'the folder of repository files is another one than before; files that are not in it cannot be downloaded',
    )
}

/** Id of a folder, from its marker file. The first call creates the folder and the file. */
async function markerOf(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, MARKER)
  const draft = `${path}.${randomUUID()}`
  try {
    await writeFile(draft, randomUUID(), { mode: 0o600 })
    // Linking is atomic, so a node that starts at the same moment reads no partly written marker.
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return (await readFile(path, 'utf8')).trim()
}

/**
 * Throws `ConfigError` when the folder of repository files is not the one that the instance's nodes used last, so that no command deletes or
 * backs up the files of another instance.
 */
export async function requireOwnFolder(db: Db, dataDir: string): Promise<void> {
  const folder = blobFolder(dataDir)
  const marker = await readFile(join(folder, MARKER), 'utf8').catch(() => '')
  const row = await db
    .selectFrom('instance_setting')
    .where('key', '=', SETTING)
    .select('value')
    .executeTakeFirst()
  if ((row?.value ?? '') !== marker.trim())
    throw new ConfigError(
      `MUSTER_DATA_DIR: found ${folder}, which is not the folder that the nodes of this database used last, expected that one.`,
    )
}
