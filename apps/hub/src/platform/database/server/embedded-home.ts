import { createHash } from 'node:crypto'
import {
  access,
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Logger } from '../../runtime/log.ts'

/** Thrown when the embedded database cannot run on this machine. The message is one line with the reason and the remedy. */
export class EmbeddedDatabaseError extends Error {
  override readonly name = 'EmbeddedDatabaseError'
}

/** Operating system account that runs the database server, where it is not the hub's own account. */
export type Account = { uid: number; gid: number; name: string }

const ELSEWHERE = '/var/lib/muster'
/**
 * Maximum length of the temporary folder's path, in bytes. The path of the Unix socket below it then stays within 103 bytes, the
 * limit of macOS.
 */
const MAX_TEMPORARY_BYTES = 75

/**
 * Whether a path exists. Throws `EACCES` when the hub's account may not enter a folder of the path. If the function returned false
 * instead, the hub would start an empty database.
 */
export async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    return false
  }
}

/**
 * Finds or creates the folder for the database files of one major version of PostgreSQL: below the data folder, or below /var/lib if the
 * server's account cannot enter the data folder. Existing files are not moved. Throws `EmbeddedDatabaseError` when existing files cannot
 * be reached, instead of starting an empty database.
 */
export async function findHome(
  dataDir: string,
  account: Account | undefined,
  major: string,
  log: Logger,
): Promise<string> {
  const home = await findFiles(dataDir, account, log)
  const own = join(home, major)
  if (await hasDatabase(own)) {
    if (!(await exists(secretsFile(dataDir)))) {
      throw new EmbeddedDatabaseError(
        `${secretsFile(dataDir)} is missing, but it holds the passwords of the database in ${own}: restore it.`,
      )
    }
    return own
  }
  for (const other of (await readdir(home)).filter(name => /^\d+$/.test(name))) {
    if (await hasDatabase(join(home, other))) {
      throw new EmbeddedDatabaseError(
        `The database in ${join(home, other)} is of PostgreSQL ${other}, and this hub has PostgreSQL ${major}: run the version of the hub that made it.`,
      )
    }
  }
  await makeOpen(own)
  return own
}

/** Path of the file with the passwords of the embedded database. */
export function secretsFile(dataDir: string): string {
  return join(dataDir, 'database.json')
}

/** Folder with the files of the embedded databases of a data folder, which may be outside of it. */
export async function databaseFolder(dataDir: string): Promise<string> {
  const home = join(dataDir, 'postgres')
  return (await readFile(join(home, 'elsewhere'), 'utf8').catch(() => '')).trim() || home
}

/**
 * Deletes an embedded database. Its server must not run. Files outside of the data folder are deleted only if they are where `findHome` puts
 * them and their `owner` note names this data folder.
 */
export async function removeDatabase(dataDir: string): Promise<void> {
  // `initdb` of a killed process goes on writing for a moment.
  const options = { recursive: true, force: true, maxRetries: 10 } as const
  const folder = await databaseFolder(dataDir)
  const owner = await readFile(join(folder, 'owner'), 'utf8').catch(() => '')
  if (dirname(resolve(folder)) === ELSEWHERE && owner.trim() === join(dataDir, 'postgres', 'elsewhere'))
    await rm(folder, options)
  await rm(join(dataDir, 'postgres'), options)
  await rm(secretsFile(dataDir), { force: true })
}

/** Folder in which `findHome` makes the folder of a new database. It may not exist yet; the data folder must exist. */
export async function placeOfNewHome(dataDir: string, account: Account | undefined): Promise<string> {
  return !account || (await canEnter(dataDir, account)) ? dataDir : ELSEWHERE
}

async function findFiles(dataDir: string, account: Account | undefined, log: Logger): Promise<string> {
  const home = join(dataDir, 'postgres')
  await mkdir(home, { recursive: true, mode: 0o755 })
  const record = join(home, 'elsewhere')
  const elsewhere = (await readFile(record, 'utf8').catch(() => '')).trim()
  if (elsewhere !== '') {
    if (await exists(elsewhere)) {
      await claim(elsewhere, record)
      return elsewhere
    }
    throw new EmbeddedDatabaseError(
      `The files of the database are not in ${elsewhere} any more: restore them, or delete ${record} and ${secretsFile(dataDir)} to start with an empty database.`,
    )
  }
  if (!account || (await canEnter(home, account))) return home
  if ((await readdir(home)).length > 0) {
    throw new EmbeddedDatabaseError(
      `The account ${account.name} cannot enter ${home} any more, but the database is there: allow it to pass every folder of the path (chmod o+x).`,
    )
  }
  const first = join(ELSEWHERE, createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16))
  // `first` may hold the database of an earlier data folder at this path. If the earlier folder was deleted, the database's passwords
  // are lost. If it was moved, it still uses the database. The new database therefore gets another folder.
  const isLeft = (await exists(first)) && !(await exists(secretsFile(dataDir)))
  if (isLeft)
    log.warn(
      { folder: first },
      'found the database of an earlier data folder with this path; using a new one',
    )
  const fresh = isLeft ? `${first}.${Date.now()}` : first
  await makeOpen(ELSEWHERE)
  await makeOpen(fresh)
  await writeFile(record, `${fresh}\n`)
  await claim(fresh, record)
  log.warn(
    { folder: fresh },
    `the account ${account.name} cannot enter ${home}: the database's files are elsewhere`,
  )
  return fresh
}

/**
 * Records in the folder `files` which data folder owns the database files there. A copy of that data folder refers to the same files, and
 * must not become a second hub on one database. Throws `EmbeddedDatabaseError` for such a copy.
 */
async function claim(files: string, record: string): Promise<void> {
  const note = join(files, 'owner')
  const owner = (await readFile(note, 'utf8').catch(() => '')).trim()
  if (owner !== '' && owner !== record && (await leadsTo(owner, files))) {
    const [ours, theirs] = [await stat(record), await stat(owner)]
    // The same folder under another path is not a copy.
    if (ours.dev !== theirs.dev || ours.ino !== theirs.ino)
      throw new EmbeddedDatabaseError(
        `The database in ${files} is that of the data folder ${dirname(dirname(owner))}, and this folder a copy: copy ${files} as well (cp -a), and write where the copy is into ${record}.`,
      )
  }
  if (owner !== record) await writeFile(note, `${record}\n`)
}

/**
 * Whether the data folder of a database outside of it still refers to the database (`used`) or not (`orphaned`). `unknown` if this
 * account may not read the data folder.
 */
type ElsewhereState = 'used' | 'orphaned' | 'unknown'

/** A database outside of its data folder. */
export type ElsewhereFolder = {
  folder: string
  /** Data folder that used this database last; undefined when none is recorded. */
  dataDir: string | undefined
  lastStart: Date | undefined
  state: ElsewhereState
}

/** Lists the databases on this machine that are outside of their data folders, in the folder `place`. */
export async function elsewhereFolders(place = ELSEWHERE): Promise<ElsewhereFolder[]> {
  const names = await readdir(place).catch(error => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return Promise.all(
    names.toSorted().map(async name => {
      const folder = join(place, name)
      const record = (await readFile(join(folder, 'owner'), 'utf8').catch(() => '')).trim()
      const majors = (await readdir(folder).catch(() => [])).filter(entry => /^\d+$/.test(entry))
      const starts = await Promise.all(
        majors.map(major => stat(join(folder, major, 'socket')).catch(() => undefined)),
      )
      const lastMs = Math.max(...starts.map(start => start?.mtimeMs ?? 0), 0)
      return {
        folder,
        dataDir: record === '' ? undefined : dirname(dirname(record)),
        lastStart: lastMs === 0 ? undefined : new Date(lastMs),
        state: record === '' ? 'orphaned' : await stateOf(record, folder),
      }
    }),
  )
}

/** Process id of the server that runs on a folder of `elsewhereFolders`; undefined if none runs. */
export async function serverOf(folder: string): Promise<number | undefined> {
  for (const major of (await readdir(folder)).filter(name => /^\d+$/.test(name))) {
    const data = join(folder, major, 'data')
    const pid = Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => ''), 10)
    // The lock may be left from a crash. A running server has its data folder as working directory.
    const works = Number.isInteger(pid) ? await stat(`/proc/${pid}/cwd`).catch(() => undefined) : undefined
    const own = await stat(data).catch(() => undefined)
    if (works && own && works.dev === own.dev && works.ino === own.ino) return pid
  }
  return undefined
}

async function stateOf(record: string, folder: string): Promise<ElsewhereState> {
  try {
    return (await readFile(record, 'utf8')).trim() === folder ? 'used' : 'orphaned'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'unknown' : 'orphaned'
  }
}

async function leadsTo(record: string, files: string): Promise<boolean> {
  return (await readFile(record, 'utf8').catch(() => '')).trim() === files
}

/**
 * Gives the files of a database to the account of its server. The files may belong to another account after a change of accounts,
 * or after they were copied from another machine.
 */
export async function handOver(folder: string, { uid, gid }: Account): Promise<void> {
  if ((await stat(folder)).uid === uid) return
  for (const name of await readdir(folder, { recursive: true })) await lchown(join(folder, name), uid, gid)
  // The folder itself comes last, so its owner shows whether all files are done.
  await chown(folder, uid, gid)
}

/** Makes a folder that every account may enter, regardless of the umask. */
async function makeOpen(folder: string): Promise<void> {
  if ((await mkdir(folder, { recursive: true })) !== undefined) await chmod(folder, 0o755)
}

/** Whether a folder returned by `findHome` holds a database. */
export function hasDatabase(folder: string): Promise<boolean> {
  return exists(join(folder, 'data/PG_VERSION'))
}

async function canEnter(folder: string, account: Account): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const { uid, gid, mode } = await stat(path)
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    if (path === dirname(path)) return true
  }
}

/**
 * Makes a socket folder with an unpredictable name. The file `record` keeps the path, so that the next start removes a folder that a
 * crash has left.
 */
export async function freshSocketDir(record: string, account: Account | undefined): Promise<string> {
  const leftover = await recordedSocketDir(record, account)
  if (leftover !== undefined) await rm(leftover, { recursive: true, force: true })
  const folder = await mkdtemp(join(await temporaryFolder(account), 'muster-'))
  if (account) await chown(folder, account.uid, account.gid)
  await writeFile(record, folder)
  return folder
}

/**
 * Socket folder whose path is in the file `record`; undefined if the folder is absent, has another owner or belongs to the server of
 * another data folder.
 */
export async function recordedSocketDir(
  record: string,
  account: Account | undefined,
): Promise<string | undefined> {
  const last = await readFile(record, 'utf8').catch(() => '')
  if (!basename(last).startsWith('muster-')) return undefined
  const found = await lstat(last).catch(() => undefined)
  if (!found?.isDirectory() || found.uid !== (account?.uid ?? process.getuid?.())) return undefined
  // A data folder that was copied while its hub ran contains the path of that hub's socket folder, which must not be removed.
  const lock = await readFile(join(last, '.s.PGSQL.5432.lock'), 'utf8').catch(() => '')
  const served = await stat(lock.split('\n')[1] ?? '').catch(() => undefined)
  const own = await stat(join(dirname(record), 'data')).catch(() => undefined)
  return served && own && (served.dev !== own.dev || served.ino !== own.ino) ? undefined : last
}

/** A temporary folder that the database server's account can enter and whose path is short enough for a Unix socket. */
async function temporaryFolder(account: Account | undefined): Promise<string> {
  for (const folder of [resolve(tmpdir()), '/tmp', '/var/tmp']) {
    if (Buffer.byteLength(folder) > MAX_TEMPORARY_BYTES || !(await exists(folder).catch(() => false)))
      continue
    if (!account || (await canEnter(folder, account))) return folder
  }
  throw new EmbeddedDatabaseError(
    `${tmpdir()} cannot hold the database's socket: set TMPDIR to a folder with a short name that every account may enter.`,
  )
}
