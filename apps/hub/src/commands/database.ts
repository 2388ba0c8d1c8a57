import type { Command } from 'commander'
import { inOneLine } from '../platform/backup/backup-error.ts'
import { moveDatabase } from '../platform/backup/move.ts'
import type { CommandLine } from './command-line.ts'
import { quietLog } from './instance-database.ts'

/** Adds `muster-hub database move --to URL`, which moves a stopped instance into another database. */
export function addDatabaseCommand(program: Command, line: CommandLine): void {
  program
    .command('database')
    .description('the database')
    .command('move')
    .description(
      'copy the database into an empty one, compare both and mark the old one; all nodes must be stopped',
    )
    .requiredOption('--to <url>', 'URL of the new database, as for MUSTER_DATABASE_URL')
    .action(async ({ to: url }: { to: string }, command: Command) => {
      const config = line.settings()
      const log = quietLog(config)
      const signal = line.stopSignal()
      const report = await inOneLine(() => moveDatabase(config, url, signal, log))
      const { to, rowCount } = report
      const done = rowCount === undefined ? 'Finished the move' : `Moved ${rowCount} rows`
      line.print(
        command,
        report,
        `${done} to ${to}. Set MUSTER_DATABASE_URL to it on every node, then start them.`,
      )
    })
}
