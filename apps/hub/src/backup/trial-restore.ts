import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbeddedDatabase } from '../database/server/embedded.ts'
import { removeDatabase } from '../database/server/embedded-home.ts'
import { lockDataDir } from '../runtime/data-lock.ts'
import type { Logger } from '../runtime/log.ts'
import { BackupError } from './backup-error.ts'
import { BackupFile } from './backup-file.ts'
import { loadTables, prepareTarget } from './load.ts'
import { abortable, decodeParts } from './parts.ts'
import { connectForCopy } from './snapshot.ts'

/** Connections of the throw-away server: the copy, and a few that PostgreSQL reserves. */
const MAX_CONNECTIONS = 10
/** Beginning of the names of folders with throw-away servers. */
const PREFIX = 'muster-verify-'

/**
 * Restores a backup into a throw-away PostgreSQL server in `folder`, and removes it again. No hub runs on it: no jobs, mails or listeners.
 * Reads all files of the backup too, and compares them with their checksums. Throws `BackupError` if the backup cannot be restored.
 */
export async function restoreOnTrial(
  path: string,
  passphrase: string | undefined,
  folder: string,
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  await removeLeftovers(folder)
  const dataDir = await mkdtemp(join(folder, PREFIX))
  await using stack = new AsyncDisposableStack()
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
  const client = await connectForCopy(server.access.owner, stack)
  await using file = await BackupFile.open(path)
  if (passphrase !== undefined) await file.unlock(passphrase)
  await prepareTarget(client, 'the server for the trial', log)
  await client.query('begin')
  await loadTables(client, file.header.migrations, decodeParts(abortable(file.content(), signal)))
  await client.query('commit')
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
