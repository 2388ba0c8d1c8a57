import type { Command } from 'commander'
import { type BackUpReport, backUp } from '../platform/backup/back-up.ts'
import { inOneLine } from '../platform/backup/backup-error.ts'
import {
  copyToStore,
  markGood,
  newBackupPath,
  removeOldBackups,
  removeOldCopies,
} from '../platform/backup/kept-backups.ts'
import type { Config } from '../platform/config/config.ts'
import { askSecret } from './ask-secret.ts'
import { CommandError, type CommandLine, EXIT } from './command-line.ts'
import { quietLog } from './instance-database.ts'

type Options = {
  blobs?: boolean
  withKey?: boolean
  passphraseFile?: string
  verify: boolean
  verifyFolder?: string
}

/** Files that the text names. `--json` has more of them. */
const MAX_NAMED_FILES = 10
/** Fewest characters of a passphrase. */
const MIN_PASSPHRASE = 12

/** Older backups that `muster-hub backup` without a file has removed from its folder, and the copy in the object storage. */
type Kept = { removed: string[]; storeKey: string | undefined }

/**
 * Adds `muster-hub backup [FILE]`, which backs up the configured instance while its hub runs. Without a file the backup goes into the folder
 * of the settings, from which old ones are removed.
 */
export function addBackupCommand(program: Command, line: CommandLine): void {
  program
    .command('backup')
    .description('write a backup of the instance into one new file, while the hub runs')
    .argument('[file]', 'file to write; without it one in MUSTER_BACKUP_DIR, from which old ones are removed')
    .option('--blobs', 'also the files of repositories that are in the data folder')
    .option('--with-key', 'also the instance key; the backup is then encrypted with a passphrase')
    .option('--passphrase-file <file>', 'file with the passphrase, instead of a prompt')
    .option('--no-verify', 'leave out the trial restore; the backup then says so')
    .option('--verify-folder <folder>', 'folder for the trial restore, instead of the folder of the backup')
    .action(async (file: string | undefined, options: Options, command: Command) => {
      const config = line.settings()
      const path = file === undefined ? await newBackupPath(config) : line.path(file)
      const passphrase = options.withKey ? await newPassphrase(line, options.passphraseFile) : undefined
      const signal = line.stopSignal()
      line.lowerPriority()
      const report = await inOneLine(() =>
        backUp(
          config,
          {
            signal,
            path,
            withBlobs: options.blobs === true,
            passphrase,
            verify: options.verify,
            verifyFolder: options.verifyFolder === undefined ? undefined : line.path(options.verifyFolder),
          },
          quietLog(config),
        ),
      )
      const isGood = report.missingBlobs + report.damagedBlobs === 0
      if (!isGood) line.exitWith(EXIT.wrong)
      const kept = file === undefined ? await keep(config, path, isGood, signal) : undefined
      line.print(command, { ...report, ...kept }, asText(report, kept))
    })
}

/**
 * Copies a backup into the object storage, if the settings say so, and removes old ones. While the storage fails, old ones are removed from the
 * folder only, so that it does not fill its disk, and the storage keeps all copies that it has. Throws `BackupError` then.
 */
async function keep(config: Config, path: string, isGood: boolean, signal: AbortSignal): Promise<Kept> {
  const copying = config.backupToS3 ? copyToStore(path, config, signal) : undefined
  const [copied] = await Promise.allSettled([copying])
  if (isGood) await markGood(path)
  const removed = await removeOldBackups(config)
  if (copied.status === 'rejected') throw copied.reason
  if (config.backupToS3) await removeOldCopies(config)
  return { storeKey: copied.value, removed }
}

async function newPassphrase(line: CommandLine, file: string | undefined): Promise<string> {
  const source = { file, option: '--passphrase-file' }
  const passphrase = await askSecret(line, 'New passphrase of the backup', source)
  if (passphrase.length < MIN_PASSPHRASE)
    throw new CommandError(
      `Found a passphrase of ${passphrase.length} characters, expected at least ${MIN_PASSPHRASE}.`,
    )
  // A program that writes the passphrase into standard input makes no typing errors.
  const isTyped = file === undefined && 'isTTY' in line.input()
  if (isTyped && (await askSecret(line, 'The same passphrase again', source)) !== passphrase)
    throw new CommandError('Found two different passphrases, expected the same one twice.')
  return passphrase
}

function faults({ faultyBlobs }: BackUpReport): string {
  return faultyBlobs
    .slice(0, MAX_NAMED_FILES)
    .map(({ assetId, problem }) => `${assetId} (${problem})`)
    .join(', ')
}

function asText(report: BackUpReport, kept: Kept | undefined): string {
  const { path, sizeBytes, rowCount, durationSecs, isVerified, hasBlobs, hasKey } = report
  const lines = [
    `${path}: ${sizeBytes} bytes, ${rowCount} rows${hasBlobs ? `, ${report.blobCount} files` : ''}, ${durationSecs} s.`,
    isVerified ? 'It was restored on trial.' : 'It was not restored on trial (--no-verify).',
    hasKey
      ? 'It contains the instance key and is encrypted with the passphrase.'
      : 'It does not contain the instance key: keep that key elsewhere, a restore needs it.',
    report.missingBlobs > 0 && `WARNING: ${report.missingBlobs} files are missing in the data folder.`,
    report.damagedBlobs > 0 &&
      `WARNING: ${report.damagedBlobs} files are not as they were uploaded, or cannot be read.`,
    report.faultyBlobs.length > 0 && `The first of them: ${faults(report)}.`,
    report.storeFailure !== undefined &&
      `WARNING: dashboard and metrics do not show this backup, because the database failed: ${report.storeFailure}.`,
    kept?.storeKey !== undefined && `It was copied into the object storage as ${kept.storeKey}.`,
    kept !== undefined &&
      kept.removed.length > 0 &&
      `Older backups were removed: ${kept.removed.join(', ')}.`,
    report.remoteBlobs > 0 && `${report.remoteBlobs} files are in object storage and not in the backup.`,
  ]
  return lines.filter(Boolean).join('\n')
}
