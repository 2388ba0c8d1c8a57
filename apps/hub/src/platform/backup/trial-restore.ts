import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { placeOfNewDatabase, startEmbeddedDatabase } from '../database/server/embedded.ts'
import { removeDatabase } from '../database/server/embedded-home.ts'
import { lockDataDir } from '../runtime/data-lock.ts'
import type { Logger } from '../runtime/log.ts'
import { BackupError } from './backup-error.ts'
import { BackupFile, type Draft } from './backup-file.ts'
import { requireFreeBytes } from './free-space.ts'
import { loadTables, prepareTarget } from './load.ts'
import { abortable, decodeParts } from './parts.ts'
import { connectForCopy } from './snapshot.ts'

/** Connections of the throw-away server: the copy, and a few that PostgreSQL reserves. */
const MAX_CONNECTIONS = 10
/** Beginning of the names of folders with throw-away servers. */
const PREFIX = 'muster-verify-'

/** A throw-away PostgreSQL server, on which no hub runs: no jobs, mails or listeners. Disposal removes it. */
type Trial = AsyncDisposable & {
  /**
   * Restores a draft and compares all its files with their checksums. Throws `BackupError` if the backup cannot be restored.
   */
  restore(draft: Draft, passphrase: string | undefined, signal: AbortSignal): Promise<void>
}

/** Folder for a trial whose server cannot enter the folder of the backup, as when root makes one in a folder of its own. */
const OPEN_FOLDER = '/var/tmp'

/**
 * Folder in which the backups of a folder are restored on trial: the same one, or `/var/tmp` if the account of the PostgreSQL server cannot
 * enter it.
 */
export async function trialFolder(folder: string): Promise<string> {
  const isOpen = (await placeOfNewDatabase(folder)) === folder
  return isOpen ? folder : OPEN_FOLDER
}

/**
 * Starts the server of a trial in `folder`, so that an unusable folder is noticed before a backup is written. Throws `BackupError` if the
 * folder cannot be used, or has less free space than `needsBytes`.
 */
export async function openTrial(folder: string, needsBytes: number, log: Logger): Promise<Trial> {
  await removeLeftovers(folder)
  await requireFreeBytes(
    folder,
    needsBytes,
    'the backup is restored there on trial; name another folder with --verify-folder, or leave the trial out with --no-verify',
  )
  await using stack = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(folder, PREFIX))
  stack.defer(() => remove(dataDir))
  stack.use(await lockDataDir(dataDir))
  // PostgreSQL may run under another account, which must be able to enter the folder.
  await chmod(dataDir, 0o755)
  const server = stack.use(
    await startEmbeddedDatabase(dataDir, log, { maxConnections: MAX_CONNECTIONS, isDisposable: true }),
  )
  if (!server.disk.folder.startsWith(dataDir))
    throw new BackupError(
      `The account of the PostgreSQL server cannot enter ${folder}, where the backup is to be restored on trial: name another folder with --verify-folder.`,
    )
  const opened = stack.move()
  return {
    async restore({ path, checksum }, passphrase, signal) {
      await using stack = new AsyncDisposableStack()
      const client = await connectForCopy(server.access.owner, stack)
      await using file = await BackupFile.open(path, checksum)
      if (passphrase !== undefined) await file.unlock(passphrase)
      await prepareTarget(client, 'the server for the trial', log)
      await client.query('begin')
      await loadTables(client, file.header.migrations, decodeParts(abortable(file.content(), signal)))
      await client.query('commit')
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/**
 * Removes the servers of trials that were killed. A running trial holds the lock of its folder. Other accounts may write into the folder,
 * for example into /tmp, so only folders of this account are removed.
 */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PREFIX)) continue
    const dataDir = join(folder, name)
    const found = await lstat(dataDir).catch(() => undefined)
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue
    const lock = await lockDataDir(dataDir).catch(() => undefined)
    if (lock === undefined) continue
    await remove(dataDir)
  }
}

async function remove(dataDir: string): Promise<void> {
  await removeDatabase(dataDir)
  await rm(dataDir, { recursive: true, force: true })
}
