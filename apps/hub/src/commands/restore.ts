import type { Command } from 'commander'
import { cancellations } from '../features/index.ts'
import { inOneLine } from '../platform/backup/backup-error.ts'
import { type Cancellations, type RestoreReport, restore } from '../platform/backup/restore.ts'
import { askSecret } from './ask-secret.ts'
import type { CommandLine } from './command-line.ts'
import { quietLog } from './instance-database.ts'

type Options = { passphraseFile?: string; keyFile?: string; withoutKey?: boolean }

/** Cancelled jobs that the text names. `--json` has all of them. */
const MAX_NAMED_JOBS = 20
const REVOKED_RIGHTS =
  'Rights that were revoked after the backup are back: look through users, members, tokens and certificates before others reach the hub.'

/** Adds `muster-hub restore FILE`, which fills an empty data folder or an empty database from a backup. */
export function addRestoreCommand(program: Command, line: CommandLine): void {
  program
    .command('restore')
    .description('restore a backup into the empty data folder, or the empty database of MUSTER_DATABASE_URL')
    .argument('<file>', 'the backup')
    .option(
      '--passphrase-file <file>',
      'file with the passphrase of an encrypted backup, instead of a prompt',
    )
    .option('--key-file <file>', 'file with the instance key, instead of a prompt')
    .option('--without-key', 'restore although the instance key is lost; the next start makes another one')
    .action(async (file: string, options: Options, command: Command) => {
      const config = line.settings()
      const signal = line.stopSignal()
      const report = await inOneLine(() =>
        restore(
          config,
          {
            signal,
            path: line.path(file),
            passphrase: () =>
              askSecret(line, 'Passphrase of the backup', {
                file: options.passphraseFile,
                option: '--passphrase-file',
              }),
            key: () => askSecret(line, 'Instance key', { file: options.keyFile, option: '--key-file' }),
            isWithoutKey: options.withoutKey === true,
            cancellations,
          },
          quietLog(config),
        ),
      )
      line.print(command, report, asText(report))
    })
}

function asText(report: RestoreReport): string {
  const { backedUpAt, release, wasVerified } = report
  const backup = `the backup of ${backedUpAt} (release ${release})`
  const unverified = !wasVerified && 'It had not been restored on trial when it was made.'
  if (report.rowCount === undefined)
    return [
      `Finished the restore of ${backup}. The audit event instance_Restored names the jobs that were cancelled.`,
      unverified,
      REVOKED_RIGHTS,
    ]
      .filter(Boolean)
      .join('\n')
  const { rowCount, blobCount, damagedBlobs } = report
  const { sessionCount, cancelledJobs } = report
  const lines = [
    `Restored ${backup}: ${rowCount} rows, ${blobCount} files.`,
    unverified,
    damagedBlobs > 0 &&
      `WARNING: ${damagedBlobs} files were damaged when the backup was made; they are missing.`,
    `${sessionCount} sessions have ended: everybody signs in again.`,
    ...cancelledJobs.slice(0, MAX_NAMED_JOBS).map(({ job, jobId }) => `Cancelled the job ${job} (${jobId}).`),
    cancelledJobs.length > MAX_NAMED_JOBS && `Cancelled ${cancelledJobs.length - MAX_NAMED_JOBS} more jobs.`,
    ...(Object.keys(cancellations) as (keyof Cancellations)[]).flatMap(field =>
      report[field].map(id => (HELD[field] ?? (one => `Cancelled the ${nounOf(field)} ${one}.`))(id)),
    ),
    REVOKED_RIGHTS,
  ]
  return lines.filter(Boolean).join('\n')
}

/** What a restore holds instead of cancelling it. */
const HELD: Partial<Record<keyof Cancellations, (id: string) => string>> = {
  webhookIds: id =>
    `The webhook ${id} is held: its messages wait until an administrator of its organization starts it.`,
  deviceOperationIds: id => `The operation ${id} is held: it goes on when somebody starts it again.`,
}

/** Words of a field with ids: `bulk action` of `bulkActionIds`. */
function nounOf(field: string): string {
  return field.replace(/Ids$/, '').replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
}
