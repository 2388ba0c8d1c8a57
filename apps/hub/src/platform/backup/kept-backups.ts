import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ActionError } from '@muster/actions'
import type { Config } from '../config/config.ts'
import { GuardedHttpClient } from '../storage/guarded-http-client.ts'
import { MAX_S3_OBJECT_BYTES, S3Bucket, S3Failure } from '../storage/s3.ts'
import { BackupError } from './backup-error.ts'

/** Names of backups that `muster-hub backup` makes without a file. In the order of names they are in that of time. */
const NAME = /^muster-\d{4}-\d\d-\d\dT\d{6}Z\.backup$/
const DRAFT = /^muster-\d{4}-\d\d-\d\dT\d{6}Z\.backup\..*\.partial$/
/** Age from which a draft belongs to a backup that was killed, in milliseconds: a day. */
const DRAFT_MS = 24 * 60 * 60 * 1000
/** Empty files in place of removed backups whose copies in the object storage are still to be removed. */
const OWED = /^(muster-\d{4}-\d\d-\d\dT\d{6}Z\.backup)\.copy$/
/** File with the name of the newest backup in which nothing was missing or damaged. */
const NEWEST_GOOD = 'newest-good'
const GIB = 1024 ** 3

type Place = Pick<Config, 'backupDir' | 'backupKeep' | 'backupToS3' | 's3'>

/** Path of a new backup in the folder of backups, which is made if it is absent. */
export async function newBackupPath({ backupDir }: Pick<Place, 'backupDir'>): Promise<string> {
  await mkdir(backupDir, { recursive: true, mode: 0o700 }).catch(cause => {
    throw new BackupError(
      `MUSTER_BACKUP_DIR: found ${backupDir} (${(cause as NodeJS.ErrnoException).code}), expected a folder that this account may make or write.`,
      { cause },
    )
  })
  const time = new Date().toISOString().replace(/:|\.\d+/g, '')
  return join(backupDir, `muster-${time}.backup`)
}

/** Notes a backup as the newest one in which nothing is missing or damaged. It is kept, whatever its age. */
export async function markGood(path: string): Promise<void> {
  const record = join(dirname(path), NEWEST_GOOD)
  const draft = `${record}.draft`
  await writeFile(draft, `${basename(path)}\n`, { flush: true })
  await rename(draft, record)
}

/**
 * Removes the oldest backups beyond the number to keep, except for the newest good one, and drafts of killed backups. Other files of the folder
 * stay. Notes the copies in the object storage that `removeOldCopies` is to remove, so that the folder does not grow while the storage
 * fails. Returns the names of removed backups.
 */
export async function removeOldBackups(place: Place): Promise<string[]> {
  const { backupDir, backupKeep } = place
  const names = (await readdir(backupDir)).toSorted()
  for (const name of names.filter(one => DRAFT.test(one))) {
    const path = join(backupDir, name)
    const changedMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now()
    if (Date.now() - changedMs > DRAFT_MS) await rm(path, { force: true })
  }
  const good = (await readFile(join(backupDir, NEWEST_GOOD), 'utf8').catch(() => '')).trim()
  const old = names
    .filter(name => NAME.test(name))
    .slice(0, -backupKeep)
    .filter(name => name !== good)
  for (const name of old) {
    if (place.backupToS3) await writeFile(join(backupDir, `${name}.copy`), '')
    await rm(join(backupDir, name), { force: true })
  }
  return old
}

/** Removes copies of removed backups from the object storage. A copy that stays is tried again the next time. Throws `BackupError`. */
export async function removeOldCopies(place: Place): Promise<void> {
  const { backupDir } = place
  for (const owed of await readdir(backupDir)) {
    const [, name] = OWED.exec(owed) ?? []
    if (name === undefined) continue
    await inStore(() => bucketOf(place).remove(keyOf(place, name)))
    await rm(join(backupDir, owed), { force: true })
  }
}

/** Copies a backup into the object storage, and compares what is stored there. Returns its key. Throws `BackupError`. */
export async function copyToStore(path: string, place: Place, signal: AbortSignal): Promise<string> {
  const { size: sizeBytes } = await stat(path)
  if (sizeBytes > MAX_S3_OBJECT_BYTES)
    throw new BackupError(
      `Found a backup of ${(sizeBytes / GIB).toFixed(1)} GiB, expected at most ${MAX_S3_OBJECT_BYTES / GIB} GiB for the object storage: copy ${path} to another place, and remove MUSTER_BACKUP_S3.`,
    )
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash, { signal })
  const key = keyOf(place, basename(path))
  await inStore(() =>
    bucketOf(place).stage(
      key,
      { sizeBytes, digest: `sha256_${hash.digest('hex')}` },
      createReadStream(path),
      signal,
    ),
  )
  return key
}

function bucketOf({ s3 }: Place): S3Bucket {
  return new S3Bucket(s3!, new GuardedHttpClient('everything'))
}

function keyOf({ s3 }: Place, name: string): string {
  return [...(s3!.prefix ? [s3!.prefix] : []), 'backups', name].join('/')
}

async function inStore<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof S3Failure || error instanceof ActionError)
      throw new BackupError(
        `The backup was made, but the object storage failed: ${error.message} Mend it, or copy the backup to another place.`,
        { cause: error },
      )
    throw error
  }
}
