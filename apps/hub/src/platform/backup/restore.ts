import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { AuditEvents } from '@muster/actions'
import type pg from 'pg'
import { keyMark } from '../cluster/shared-key.ts'
import type { Config } from '../config/config.ts'
import { instanceKeyFile, instanceKeyOf, isInstanceKey } from '../credentials/instance-key.ts'
import { readSecret, writeSecret } from '../credentials/secret-file.ts'
import { placeOfNewDatabase, startEmbeddedDatabase } from '../database/server/embedded.ts'
import { removeDatabase } from '../database/server/embedded-home.ts'
import { checkExternalDatabase, externalConnection } from '../database/server/external.ts'
import { isUnfinished, markFinished, unmarkMoved } from '../database/server/marks.ts'
import { jobKinds } from '../jobs/kinds.ts'
import { prepareDataDir, UNFINISHED_FILE, unfinishedEntries } from '../runtime/data-folder.ts'
import { lockDataDir } from '../runtime/data-lock.ts'
import type { Logger } from '../runtime/log.ts'
import { WrongBytes } from '../storage/digest.ts'
import { blobFolder, LocalFolder } from '../storage/local-folder.ts'
import { BackupError } from './backup-error.ts'
import { BackupFile } from './backup-file.ts'
import { copyBytes, nearestFolder, requireFreeBytes } from './free-space.ts'
import { analyze, checkTarget, loadTables, prepareTarget, removeUnfinished } from './load.ts'
import { abortable, decodeParts, nameOf, type Part } from './parts.ts'
import { recordCommandEvent } from './record-event.ts'
import { connectForCopy } from './snapshot.ts'

const SHARD = /^[0-9a-f]{4}$/
/** Limit of the instance key in a backup, in bytes. */
const MAX_KEY_BYTES = 1024
/** Drafts of files that a killed restore leaves. */
const DRAFT = /^(database\.json\.draft|instance-key\.\d+|hub\.lock\.\w+)$/

/** A backup to restore, and where its secrets come from. */
export type RestoreOptions = {
  path: string
  /** Asked for only if the backup is encrypted. */
  passphrase: () => Promise<string>
  /** Asked for the instance key only if neither the backup, nor the settings, nor the data folder have it. */
  key: () => Promise<string>
  /** Restores without the instance key. The next start makes another one. */
  isWithoutKey: boolean
  /** Functions of features that cancel unfinished work. */
  cancellations: Cancellations
  /** Ends the restore. */
  signal: AbortSignal
}

/** Result of a restore: facts about the backup, and the numbers of restored and ended objects. */
export type RestoreReport = { backedUpAt: string; release: string; wasVerified: boolean } & (
  | Filled
  | { rowCount: undefined }
)

/**
 * Numbers of restored and ended objects. They are unknown if an earlier command restored everything and was killed before its last step,
 * and this command only did that step.
 */
type Filled = Settled & {
  rowCount: number
  blobCount: number
  /** Files whose bytes in the backup are not the ones that were uploaded. They were left out. */
  damagedBlobs: number
}

/** Ids of unfinished work of features that was cancelled, by the names of fields in the event of the restore. */
type CancelledWork = Omit<AuditEvents['instance_Restored'], 'backedUpAt' | 'sessionCount' | 'jobIds'>

/**
 * Cancel unfinished work in a restored database, because the work may have gone on after the backup. Resolve to its ids. The database has
 * the schema of the backup, so tables of later releases may be absent.
 */
export type Cancellations = { [Field in keyof CancelledWork]: (client: pg.ClientBase) => Promise<string[]> }

type Settled = CancelledWork & {
  sessionCount: number
  /** Waiting jobs that were cancelled, because they change devices or send mail. */
  cancelledJobs: { job: string; jobId: string }[]
}

type Target = Pick<Config, 'dataDir' | 'databaseUrl' | 'instanceKey'>

/**
 * Restores a backup into an empty data folder, or into the empty database of `MUSTER_DATABASE_URL`. The file, its secrets and the target
 * are checked before anything is written. A killed restore leaves marks, by which a start refuses the target. The next restore finishes a
 * complete database of `MUSTER_DATABASE_URL`, and begins anew in all other cases. Throws `BackupError` or `ConfigError`.
 */
export async function restore(
  config: Target,
  { path, passphrase, key, isWithoutKey, cancellations, signal }: RestoreOptions,
  log: Logger,
): Promise<RestoreReport> {
  const { dataDir, databaseUrl } = config
  await using file = await BackupFile.open(path)
  const { header } = file
  if (header.encryption !== null) await file.unlock(await passphrase())
  await file.check()
  const found = await checkParts(decodeParts(abortable(file.content(), signal)), header.hasBlobs)
  const { createdAt: backedUpAt, release, isVerified: wasVerified } = header

  await using stack = new AsyncDisposableStack()
  await prepareDataDir(dataDir)
  stack.use(await lockDataDir(dataDir))
  const mark = join(dataDir, UNFINISHED_FILE)
  const unfinished = await unfinishedEntries(dataDir)
  let external: pg.Client | undefined
  if (databaseUrl !== undefined) {
    await checkExternalDatabase(databaseUrl)
    external = await connectForCopy(externalConnection(databaseUrl), stack)
    if (unfinished !== undefined && (await isRestored(external, backedUpAt))) {
      await rm(mark)
      return { backedUpAt, release, wasVerified, rowCount: undefined }
    }
    await checkTarget(external, 'MUSTER_DATABASE_URL')
  }
  await requireEmptyFolder(config, header.hasBlobs, unfinished)
  const instanceKey = await keyFor(config, header.keyMark, found.instanceKey, isWithoutKey ? undefined : key)
  if (unfinished !== undefined) await removeEntries(dataDir, unfinished)
  if (databaseUrl === undefined)
    await requireFreeBytes(
      await nearestFolder(await placeOfNewDatabase(dataDir)),
      copyBytes(header.databaseBytes),
      'the database is restored there',
    )

  const entries = [...(databaseUrl === undefined ? ['postgres'] : []), ...(header.hasBlobs ? ['blobs'] : [])]
  await writeFile(mark, `${entries.join('\n')}\n`, { flush: true })
  /** False while the database may be complete or marked. The mark of the folder then stays for the next restore. */
  let mayRemove = true
  try {
    if (instanceKey !== undefined) await writeSecret(instanceKeyFile(dataDir), instanceKey)
    return { backedUpAt, release, wasVerified, ...(await fill()) }
  } catch (error) {
    if (!mayRemove) throw error
    // The key is written only where there was none.
    if (instanceKey !== undefined) await rm(instanceKeyFile(dataDir), { force: true })
    await removeEntries(dataDir, entries)
    throw error
  }

  async function fill(): Promise<Filled> {
    await using stack = new AsyncDisposableStack()
    const client =
      external ??
      (await connectForCopy(stack.use(await startEmbeddedDatabase(dataDir, log)).access.owner, stack))
    await prepareTarget(client, databaseUrl === undefined ? 'MUSTER_DATA_DIR' : 'MUSTER_DATABASE_URL', log)
    let isCommitSent = false
    try {
      const blobs = new BlobWriter(client, dataDir)
      await client.query('begin')
      const rowCount = await loadTables(
        client,
        header.migrations,
        decodeParts(abortable(file.content(), signal)),
        async part => blobs.write(part),
      )
      const settled = await settle(client, backedUpAt, cancellations)
      await markFinished(client)
      // The answer may be lost although the server has committed.
      isCommitSent = true
      mayRemove = false
      await client.query('commit')
      await rm(mark)
      await analyze(client)
      return { rowCount, ...blobs.counts, ...settled }
    } catch (error) {
      if (isCommitSent) throw error
      // Without a connection, the marks stay and the next restore removes the rest.
      await client
        .query('rollback')
        .then(() => removeUnfinished(client))
        .catch(() => {
          mayRemove = external === undefined
        })
      throw error
    }
  }
}

/** Whether the database is complete and was last filled from the backup of this time. */
async function isRestored(client: pg.Client, backedUpAt: string): Promise<boolean> {
  if (await isUnfinished(client)) return false
  const { rows: tables } = await client.query("select from pg_class where oid = to_regclass('audit_event')")
  if (tables.length === 0) return false
  // The rows of a backup have the event of the restore before, if its instance was itself restored.
  const { rows } = await client.query<{ backedUpAt: string }>(
    `select data ->> 'backedUpAt' as "backedUpAt" from audit_event where event = 'instance_Restored'
      order by created_at desc limit 1`,
  )
  return rows[0]?.backedUpAt === backedUpAt
}

/** Reads the whole backup without writing anything. Resolves to the instance key in it. */
async function checkParts(
  parts: AsyncIterable<Part>,
  hasBlobs: boolean,
): Promise<{ instanceKey: string | undefined }> {
  let instanceKey: string | undefined
  for await (const { header, body } of parts) {
    if (header.kind === 'blob' && !hasBlobs)
      throw new BackupError(`The backup has ${nameOf(header)}, but its header says that it has no files.`)
    if (header.kind !== 'instance-key') continue
    const pieces: Buffer[] = []
    for await (const piece of body) {
      pieces.push(piece)
      if (pieces.reduce((sum, { length }) => sum + length, 0) > MAX_KEY_BYTES)
        throw new BackupError(
          `The backup has an instance key of more than ${MAX_KEY_BYTES} bytes, expected 64 hexadecimal digits.`,
        )
    }
    instanceKey = Buffer.concat(pieces).toString()
  }
  return { instanceKey }
}

async function requireEmptyFolder(
  { dataDir, databaseUrl }: Target,
  hasBlobs: boolean,
  unfinished: string[] | undefined,
): Promise<void> {
  const may = new Set(['hub.lock', 'instance-key', UNFINISHED_FILE, ...(unfinished ?? [])])
  if (unfinished?.includes('postgres')) may.add('database.json')
  const other = (await readdir(dataDir)).find(
    name => !may.has(name) && !(unfinished !== undefined && DRAFT.test(name)),
  )
  if (databaseUrl === undefined && other !== undefined)
    throw new BackupError(
      `MUSTER_DATA_DIR: found ${join(dataDir, other)}, expected an empty folder, in which at most the file instance-key may be.`,
    )
  if (!hasBlobs || unfinished?.includes('blobs')) return
  const shard = (await readdir(blobFolder(dataDir)).catch(() => [])).find(name => SHARD.test(name))
  if (shard !== undefined)
    throw new BackupError(
      `MUSTER_DATA_DIR: found files in ${blobFolder(dataDir)}, expected an empty folder for the files of the backup.`,
    )
}

async function removeEntries(dataDir: string, entries: string[]): Promise<void> {
  if (entries.includes('postgres')) await removeDatabase(dataDir)
  if (entries.includes('blobs')) {
    const folder = blobFolder(dataDir)
    // The folder itself may be the mount of a disk.
    for (const name of await readdir(folder).catch(() => []))
      if (SHARD.test(name) || name === 'incoming') await rm(join(folder, name), { recursive: true })
  }
  for (const name of await readdir(dataDir))
    if (DRAFT.test(name)) await rm(join(dataDir, name), { force: true })
  await rm(join(dataDir, UNFINISHED_FILE), { force: true })
}

/**
 * Finds the instance key and compares it with the mark of the backup. Resolves to the key if it must be written into the data folder. `ask`
 * is undefined for a restore without the key.
 */
async function keyFor(
  { dataDir, instanceKey: setting }: Target,
  mark: string | null,
  ofBackup: string | undefined,
  ask: (() => Promise<string>) | undefined,
): Promise<string | undefined> {
  const present = setting ?? (await readSecret(instanceKeyFile(dataDir)))
  const place = setting === undefined ? instanceKeyFile(dataDir) : 'MUSTER_INSTANCE_KEY'
  if (ask === undefined) return undefined
  const key = present ?? ofBackup ?? (mark === null ? undefined : await ask())
  if (key === undefined) return undefined
  const from = present !== undefined ? place : ofBackup !== undefined ? 'the backup' : 'the given key'
  if (!isInstanceKey(key))
    throw new BackupError(`The instance key of ${from} is damaged: expected 64 hexadecimal digits.`)
  if (mark !== null && keyMark(instanceKeyOf(key)) !== mark)
    throw new BackupError(
      `The instance key of ${from} is not that of the backup: take the right one, or restore with --without-key.`,
    )
  return present === undefined ? key : undefined
}

/** Writes the files of a backup into the data folder. */
class BlobWriter {
  readonly #client: pg.Client
  readonly #folder: LocalFolder
  readonly counts = { blobCount: 0, damagedBlobs: 0 }

  constructor(client: pg.Client, dataDir: string) {
    this.#client = client
    this.#folder = new LocalFolder(blobFolder(dataDir))
  }

  async write({ header, body }: Part): Promise<void> {
    if (header.kind !== 'blob') return
    const { assetId } = header
    const { rows } = await this.#client.query<{ sizeBytes: number; digest: string }>(
      'select size_bytes::float8 as "sizeBytes", digest from asset where asset_id = $1',
      [assetId],
    )
    if (!rows[0])
      throw new BackupError(`The backup has the file ${assetId}, which its database does not know.`)
    const source = Readable.from(body)
    try {
      const signal = new AbortController().signal
      const staged = await this.#folder.stage(assetId, rows[0], source, signal)
      await staged.commit()
      this.counts.blobCount++
    } catch (error) {
      if (source.errored) throw source.errored
      if (!(error instanceof WrongBytes)) throw error
      this.counts.damagedBlobs++
    }
  }
}

/** Ends what must not go on in the restored database: sessions, and work that may have been done after the backup. */
async function settle(client: pg.Client, backedUpAt: string, cancellations: Cancellations): Promise<Settled> {
  const { rowCount } = await client.query('delete from session')
  // The nodes of the backup are not alive. Otherwise the first start within 20 s would take them for running ones, and a later one would
  // mark them as dead. Their connections end at their last heartbeat.
  await client.query('update cluster_node set left_at = last_heartbeat where left_at is null')
  // The last backup belongs to the original instance.
  await client.query("update instance_setting set value = value - 'place' where key = 'last-backup'")
  const names = Object.entries(jobKinds())
    .filter(([, kind]) => kind.isCancelledByRestore)
    .map(([name]) => name)
  const { rows: cancelledJobs } = await client.query<{ job: string; jobId: string }>(
    `update pgboss.job set state = 'cancelled', completed_on = now()
      where name = any ($1) and state in ('created', 'retry', 'active')
      returning name as job, coalesce(data ->> 'jobId', id::text) as "jobId"`,
    [names],
  )
  const cancelled: Record<string, string[]> = {}
  for (const [field, cancel] of Object.entries(cancellations)) cancelled[field] = await cancel(client)
  const work = cancelled as CancelledWork
  await unmarkMoved(client)
  const sessionCount = rowCount ?? 0
  await recordCommandEvent(client, 'instance_Restored', {
    backedUpAt,
    sessionCount,
    jobIds: cancelledJobs.map(({ jobId }) => jobId),
    ...work,
  })
  return { sessionCount, cancelledJobs, ...work }
}
