import { randomUUID } from 'node:crypto'
import { access, constants, link, rename, rm, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename, dirname } from 'node:path'
import { VERSION } from '@muster/actions/version'
import type pg from 'pg'
import { requireOwnFolder } from '../cluster/shared-folder.ts'
import { keyMark } from '../cluster/shared-key.ts'
import type { Config } from '../config/config.ts'
import { instanceKeyFile, instanceKeyOf } from '../credentials/instance-key.ts'
import { readSecret } from '../credentials/secret-file.ts'
import { openDatabase } from '../database/client/connection.ts'
import { databaseFolder } from '../database/server/embedded-home.ts'
import { instanceAccess } from '../database/server/instance-access.ts'
import { areOnOneDisk } from '../runtime/disk-space.ts'
import type { Logger } from '../runtime/log.ts'
import { syncFolder } from '../runtime/sync-folder.ts'
import { holdBlobs } from '../storage/blob-sweep.ts'
import { Digester, WrongBytes } from '../storage/digest.ts'
import { blobFolder, LocalFolder } from '../storage/local-folder.ts'
import { BackupError } from './backup-error.ts'
import { completeBackupFile, writeBackupFile } from './backup-file.ts'
import { copyBytes, leavingReserve, requireFreeBytes } from './free-space.ts'
import { type LastBackup, storeLastBackup } from './last-backup.ts'
import { placeOf } from './last-backup-file.ts'
import { abortable, encodeParts, type Part } from './parts.ts'
import { connectForCopy, endSnapshot, type Snapshot, snapshotParts, takeSnapshot } from './snapshot.ts'
import { openTrial, trialFolder } from './trial-restore.ts'

/** Files of repositories per query. */
const BLOBS_PER_PAGE = 1_000
/** Maximum number of missing and damaged files that a report names. */
const MAX_FAULTY_BLOBS = 100
/** Timeout of the connection that notes a complete backup, in milliseconds. */
const STORE_TIMEOUT_MS = 10_000
/** Errors of `link` on file systems without hard links, such as FAT and some network shares. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** Options of a backup: its file, its contents, and the folder in which it is restored on trial. */
export type BackUpOptions = {
  path: string
  withBlobs: boolean
  /** Passphrase of a backup with the instance key; undefined for one without the key, which is not encrypted. */
  passphrase: string | undefined
  /** Whether the backup is restored on trial. */
  verify: boolean
  /** Folder for the trial restore; undefined for the folder of the backup, or another one that the server of the trial can enter. */
  verifyFolder: string | undefined
  /** Ends the backup. */
  signal: AbortSignal
}

/** A backup that was made. */
export type BackUpReport = Omit<LastBackup, 'place'> & {
  path: string
  rowCount: number
  blobCount: number
  missingBlobs: number
  /** Files with other bytes than were uploaded, and files that cannot be read. */
  damagedBlobs: number
  /** The first 100 missing and damaged files. `problem` is `missing`, `changed` or the code of the failure, such as `EIO`. */
  faultyBlobs: { assetId: string; problem: string }[]
  /** Files in object storage, which the backup does not contain. */
  remoteBlobs: number
  /** Reason why the database could not note the backup; undefined if it did. */
  storeFailure: string | undefined
}

type Counts = Pick<
  BackUpReport,
  'rowCount' | 'blobCount' | 'missingBlobs' | 'damagedBlobs' | 'faultyBlobs' | 'remoteBlobs'
>

/**
 * Backs up the configured instance into a new file while its hub runs. The file gets its name when it is complete, verified and on the disk.
 * Throws `BackupError` if that is not possible, and leaves no file then.
 */
export async function backUp(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'instanceKey'>,
  { path, withBlobs, passphrase, verify, verifyFolder, signal }: BackUpOptions,
  log: Logger,
): Promise<BackUpReport> {
  const startedAtMs = performance.now()
  await requireFreePath(path)
  await using stack = new AsyncDisposableStack()
  const source = stack.use(await instanceAccess(config, log))
  const client = await connectForCopy(source.access.hub, stack)
  await lockBackups(client)
  await holdBlobs(client)
  // With an embedded database, database and files are in the same data folder.
  if (withBlobs && config.databaseUrl !== undefined) {
    await using database = openDatabase(source.access.hub, () => {})
    await requireOwnFolder(database.db, config.dataDir)
  }
  const takenAt = new Date().toISOString()
  const snapshot = await takeSnapshot(client)
  const { migrations, databaseBytes, keyMark: mark } = snapshot
  const key = passphrase === undefined ? undefined : await readKey(config, mark)
  const folder = dirname(path)
  const trialIn = verify ? (verifyFolder ?? (await trialFolder(folder))) : undefined
  const trial =
    trialIn === undefined ? undefined : stack.use(await openTrial(trialIn, copyBytes(databaseBytes), log))

  // The folder of files may be a disk of its own, and the files of an embedded database may be outside of the data folder.
  const ofDatabase = config.databaseUrl === undefined ? await databaseFolder(config.dataDir) : config.dataDir
  const filled = [config.dataDir, blobFolder(config.dataDir), ofDatabase]
  const besides = await Promise.all(filled.map(one => areOnOneDisk(folder, one)))
  const isBesideData = besides.includes(true)
  if (isBesideData)
    await requireRoom(folder, trialIn, databaseBytes, withBlobs ? await localBlobBytes(client) : 0)

  // Two instances with the same timer may write into one folder.
  const draftPath = `${path}.${randomUUID()}.partial`
  stack.defer(() => rm(draftPath, { force: true }))
  const counts: Counts = {
    rowCount: 0,
    blobCount: 0,
    missingBlobs: 0,
    damagedBlobs: 0,
    faultyBlobs: [],
    remoteBlobs: 0,
  }
  const facts = { isVerified: verify, hasBlobs: withBlobs, hasKey: key !== undefined }
  const content = abortable(
    encodeParts(partsOf(snapshot, counts, withBlobs ? config.dataDir : undefined, key)),
    signal,
  )
  const draft = await writeBackupFile(
    draftPath,
    { createdAt: takenAt, release: VERSION, migrations, databaseBytes, keyMark: mark, ...facts },
    isBesideData ? leavingReserve(content, folder) : content,
    passphrase,
  )
  await endSnapshot(snapshot)
  if (trial) {
    await trial.restore(draft, passphrase, signal)
    await trial[Symbol.asyncDispose]()
  }
  await completeBackupFile(draft)
  await publish(draftPath, path)
  await syncFolder(folder)

  const { missingBlobs, damagedBlobs } = counts
  const last = {
    takenAt,
    sizeBytes: draft.sizeBytes,
    durationSecs: Math.round((performance.now() - startedAtMs) / 1000),
    ...facts,
    missingBlobs,
    damagedBlobs,
  }
  const storeFailure = await store(source.access.hub, {
    ...last,
    place: await placeOf(path).catch(() => undefined),
  })
  return { path, ...last, ...counts, storeFailure }
}

async function requireFreePath(path: string): Promise<void> {
  if (await stat(path).catch(() => undefined)) throw takenPath(path)
  const folder = dirname(path)
  await access(folder, constants.W_OK | constants.X_OK).catch(cause => {
    throw new BackupError(
      `Found the folder ${folder} (${(cause as NodeJS.ErrnoException).code}), expected one in which the account ${accountName()} can write ${basename(path)}.`,
      { cause },
    )
  })
}

/** Name of the account of this process, or its number if it has no name, as in a container. */
function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

function takenPath(path: string): BackupError {
  return new BackupError(`${path} exists already, expected the name of a new file.`)
}

/** Gives the complete file its name. Throws `BackupError` if there is another file of that name by now. */
async function publish(draft: string, path: string): Promise<void> {
  try {
    // Unlike `rename`, `link` never replaces a file.
    await link(draft, path)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw takenPath(path)
    if (!NO_LINKS.has(code)) throw error
    await requireFreePath(path)
    await rename(draft, path)
  }
}

async function lockBackups(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ isFree: boolean }>(
    `select pg_try_advisory_lock(hashtext('muster.backup')) as "isFree"`,
  )
  if (!rows[0]!.isFree)
    throw new BackupError('Another backup of this instance runs: wait until it has ended.')
}

/** The instance key, which must be the one that the hub uses. */
async function readKey(
  { dataDir, instanceKey }: Pick<Config, 'dataDir' | 'instanceKey'>,
  mark: string | null,
): Promise<string> {
  const key = instanceKey ?? (await readSecret(instanceKeyFile(dataDir)))
  if (key === undefined)
    throw new BackupError(
      `MUSTER_INSTANCE_KEY: found neither it nor ${instanceKeyFile(dataDir)}, expected the key of the instance for --with-key.`,
    )
  if (mark !== null && keyMark(instanceKeyOf(key)) !== mark)
    throw new BackupError(
      'MUSTER_INSTANCE_KEY: found another key than the instance has, expected the same one for --with-key.',
    )
  return key
}

/** Parts of a backup in their order. Counts what it reads. */
async function* partsOf(
  snapshot: Snapshot,
  counts: Counts,
  dataDir: string | undefined,
  key: string | undefined,
): AsyncGenerator<Part> {
  for await (const part of snapshotParts(snapshot)) {
    yield part
    counts.rowCount += part.rows() ?? 0
  }
  if (dataDir !== undefined) yield* blobParts(snapshot.client, dataDir, counts)
  if (key !== undefined) yield { header: { kind: 'instance-key' }, body: bytesOf(key), rows: () => undefined }
}

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

/**
 * Throws `BackupError` if a backup could fill a disk of the hub: that of the data folder, of the files or of the database. Its trial may be
 * on the same disk.
 */
async function requireRoom(
  folder: string,
  verifyFolder: string | undefined,
  databaseBytes: number,
  blobBytes: number,
): Promise<void> {
  const isBesideTrial = verifyFolder !== undefined && (await areOnOneDisk(folder, verifyFolder))
  await requireFreeBytes(
    folder,
    databaseBytes + blobBytes + (isBesideTrial ? copyBytes(databaseBytes) : 0),
    `the backup${isBesideTrial ? ' and its trial are' : ' is'} on the disk of the data folder, of the files or of the database, which must not become full; take another disk`,
  )
}

async function localBlobBytes(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    "select coalesce(sum(size_bytes), 0)::float8 as bytes from asset where status = 'Available' and store_id is null",
  )
  return rows[0]!.bytes
}

/** Files of repositories in the data folder, those of the snapshot. A missing file is left out. */
async function* blobParts(client: pg.Client, dataDir: string, counts: Counts): AsyncGenerator<Part> {
  const folder = new LocalFolder(blobFolder(dataDir))
  for (let after = ''; ; ) {
    const { rows } = await client.query<{
      assetId: string
      sizeBytes: number
      digest: string
      isRemote: boolean
    }>(
      `select asset_id as "assetId", size_bytes::float8 as "sizeBytes", digest, store_id is not null as "isRemote"
         from asset where status = 'Available' and asset_id > $1 order by asset_id limit $2`,
      [after, BLOBS_PER_PAGE],
    )
    for (const { assetId, isRemote, ...expected } of rows) {
      if (isRemote) counts.remoteBlobs++
      else if (await isMissing(folder, assetId)) noteFault(counts, assetId, 'missing')
      else {
        counts.blobCount++
        yield {
          header: { kind: 'blob', assetId },
          body: readBlob(folder, assetId, new Digester(expected), counts),
          rows: () => undefined,
        }
      }
    }
    if (rows.length < BLOBS_PER_PAGE) return
    after = rows.at(-1)!.assetId
  }
}

/** False also where the folder of the file cannot be read. The read of the file then has the reason. */
function isMissing(folder: LocalFolder, assetId: string): Promise<boolean> {
  return folder.sizeOf(assetId).then(
    size => size === undefined,
    () => false,
  )
}

function noteFault(counts: Counts, assetId: string, problem: string): void {
  if (problem === 'missing') counts.missingBlobs++
  else counts.damagedBlobs++
  if (counts.faultyBlobs.length < MAX_FAULTY_BLOBS) counts.faultyBlobs.push({ assetId, problem })
}

/** Bytes of a file up to the first failure. A restore leaves a file out whose bytes are not all there. */
async function* readBlob(
  folder: LocalFolder,
  assetId: string,
  digester: Digester,
  counts: Counts,
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of await folder.read(assetId)) {
      digester.update(piece as Buffer)
      yield piece as Buffer
    }
    digester.finish()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (!(error instanceof WrongBytes) && syscall === undefined) throw error
    noteFault(counts, assetId, error instanceof WrongBytes ? 'changed' : code!)
  }
}

/** Notes a complete backup over a new connection, because the first one may have ended during the trial. Resolves to the failure. */
async function store(connection: pg.PoolConfig, backup: LastBackup): Promise<string | undefined> {
  await using stack = new AsyncDisposableStack()
  try {
    const client = await connectForCopy({ ...connection, connectionTimeoutMillis: STORE_TIMEOUT_MS }, stack)
    await storeLastBackup(client, backup)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
