import { rm } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { requireOwnFolder } from '../platform/cluster/shared-folder.ts'
import type { Config } from '../platform/config/config.ts'
import {
  type ElsewhereFolder,
  elsewhereFolders,
  serverOf,
} from '../platform/database/server/embedded-home.ts'
import { knownFiles } from '../platform/storage/blob-sweep.ts'
import { blobFolder, type Leftover, LocalFolder } from '../platform/storage/local-folder.ts'
import { CommandError, type CommandLine } from './command-line.ts'
import { openInstance } from './instance-database.ts'

type Options = { delete?: boolean; lost?: boolean; deleteDatabase?: string }
type Sum = { files: number; bytes: number }
type Sums = Record<Leftover['kind'], Sum>

/**
 * Adds `muster-hub gc`, which lists files that no row of the database names and databases that no data folder leads to. Only `--delete`
 * changes anything. It is safe while the hub runs, whose job `repositories_SweepBlobs` clears the same files in time. `place` is the folder
 * of databases outside of their data folders; tests replace it.
 */
export function addGcCommand(program: Command, line: CommandLine, place?: string): void {
  program
    .command('gc')
    .description('list files and databases that nothing needs; --delete removes the files')
    .option(
      '--delete',
      'remove remains of uploads and files that are lost for a week, and move files that the database does not know to lost/',
    )
    .option('--lost', 'list or remove files of any age in lost/')
    .addOption(
      new Option(
        '--delete-database <folder>',
        'remove only this database, to which no data folder leads',
      ).conflicts(['delete', 'lost']),
    )
    .action(async (options: Options, command: Command) => {
      const { deleteDatabase } = options
      if (deleteDatabase !== undefined) {
        const folder = line.path(deleteDatabase)
        await removeDatabase(folder, place)
        return line.print(command, { deletedDatabase: folder }, `${folder} was removed.`)
      }
      const isDryRun = options.delete !== true
      const files = await clearFiles(line.settings(), { isDryRun, keepsLost: options.lost !== true })
      const databases = (await elsewhereFolders(place)).filter(({ state }) => state === 'orphaned')
      line.print(command, { isDryRun, files, databases }, textOf(files, databases, isDryRun))
    })
}

/** Sums up the files that no blob needs and, unless it is a dry run, clears them, one after the other. */
async function clearFiles(
  config: Config,
  { isDryRun, keepsLost }: { isDryRun: boolean; keepsLost: boolean },
): Promise<Sums> {
  await using instance = await openInstance(config)
  const { db, pool } = instance
  // With an embedded database, database and files are in the same data folder.
  if (config.databaseUrl !== undefined) await requireOwnFolder(db, config.dataDir)
  // The lock lasts as long as its connection.
  const client = await pool.connect()
  try {
    const { rows } = await client.query<{ isTaken: boolean }>(
      'select pg_try_advisory_lock(hashtext(\'muster.gc\')) as "isTaken"',
    )
    if (!rows[0]!.isTaken)
      throw new CommandError('Another muster-hub gc runs on this instance: wait until it has ended.')
    const folder = new LocalFolder(blobFolder(config.dataDir))
    const sums: Sums = {
      upload: { files: 0, bytes: 0 },
      unknown: { files: 0, bytes: 0 },
      lost: { files: 0, bytes: 0 },
    }
    for await (const leftover of folder.leftovers(
      names => knownFiles(db, names),
      keepsLost ? undefined : 0,
    )) {
      if (!isDryRun) await folder.clear(leftover)
      sums[leftover.kind].files++
      sums[leftover.kind].bytes += leftover.sizeBytes
    }
    return sums
  } finally {
    client.release(true)
  }
}

/** Removes an orphaned database. Throws `CommandError` for any other folder, and while its server runs. */
async function removeDatabase(folder: string, place: string | undefined): Promise<void> {
  const found = (await elsewhereFolders(place)).find(one => one.folder === folder)
  if (found?.state !== 'orphaned')
    throw new CommandError(
      `--delete-database: found ${folder}${found === undefined ? '' : `, which is ${found.state === 'used' ? `the database of ${found.dataDir}` : 'not to be judged by this account'}`}, expected one of the databases that muster-hub gc lists.`,
    )
  const pid = await serverOf(folder)
  if (pid !== undefined)
    throw new CommandError(
      `--delete-database: found ${folder}, whose server runs with process id ${pid}: stop its hub.`,
    )
  await rm(folder, { recursive: true })
}

function textOf({ upload, unknown, lost }: Sums, databases: ElsewhereFolder[], isDryRun: boolean): string {
  const lines = [
    sumText(isDryRun ? 'Remains of uploads' : 'Removed remains of uploads', upload),
    sumText(
      isDryRun
        ? 'Files that the database does not know'
        : 'Moved to lost/, because the database does not know them',
      unknown,
    ),
    sumText(isDryRun ? 'Files in lost/' : 'Removed from lost/', lost),
    ...databases.map(
      ({ folder, dataDir }) =>
        `${folder}: a database to which no data folder leads${dataDir === undefined ? '' : `; it was that of ${dataDir}`}.`,
    ),
  ].filter(text => text !== undefined)
  if (lines.length === 0) return 'Nothing is left over.'
  if (isDryRun && upload.files + unknown.files + lost.files > 0)
    lines.push('Nothing was changed; --delete removes these files.')
  if (databases.length > 0)
    lines.push(
      'If the data folder of a database was moved, start the hub with it. If it is gone for good: muster-hub gc --delete-database FOLDER',
    )
  return lines.join('\n')
}

function sumText(what: string, { files, bytes }: Sum): string | undefined {
  const count = files === 1 ? '1 file' : `${files} files`
  return files === 0 ? undefined : `${what}: ${count}, ${(bytes / 1024 ** 2).toFixed(1)} MiB.`
}
