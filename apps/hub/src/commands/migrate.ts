import type { Command } from 'commander'
import type { Config } from '../platform/config/config.ts'
import type { DatabaseAccess } from '../platform/database/server/embedded.ts'
import { instanceAccess } from '../platform/database/server/instance-access.ts'
import { migrate, type PlannedMigration, plannedMigrations } from '../platform/database/server/migrate.ts'
import { withClient } from '../platform/database/server/with-client.ts'
import type { CommandLine } from './command-line.ts'
import { quietLog } from './instance-database.ts'

type Plan = { migrations: PlannedMigration[]; isQueueCurrent: boolean }

/**
 * Adds `muster-hub migrate`, which migrates the database as a start does, or lists the migrations with `--dry-run`. Each migration is a
 * transaction of its own, so the next call or start continues after a killed one.
 */
export function addMigrateCommand(program: Command, line: CommandLine): void {
  program
    .command('migrate')
    .description('migrate the database to this release, as a start does')
    .option('--dry-run', 'list the migrations that would be applied, and change nothing')
    .action(async ({ dryRun = false }: { dryRun?: boolean }, command: Command) => {
      const config = line.settings()
      await using instance = await instanceAccess(config, quietLog(config))
      const { access } = instance
      const planned = await planOf(access, config)
      if (!dryRun) await migrate(access.owner, quietLog(config), undefined, { mayWait: false })
      const left = dryRun ? planned : await planOf(access, config)
      const applied = planned.migrations.filter(({ name }) => left.migrations.every(one => one.name !== name))
      line.print(
        command,
        {
          applied: applied.map(({ name }) => name),
          pending: left.migrations,
          isQueueCurrent: left.isQueueCurrent,
        },
        textOf(applied, left),
      )
    })
}

function planOf(access: DatabaseAccess, config: Config): Promise<Plan> {
  return withClient(access.owner, client => plannedMigrations(client, quietLog(config)))
}

function textOf(applied: PlannedMigration[], { migrations, isQueueCurrent }: Plan): string {
  const lines = [
    ...applied.map(({ name }) => `Applied ${name}.`),
    ...migrations.map(({ name, waitsFor }) =>
      waitsFor.length === 0
        ? `Would apply ${name}.`
        : `${name} waits until these nodes have stopped: ${waitsFor.join(', ')}.`,
    ),
    ...(isQueueCurrent ? [] : ['Would migrate the job queue.']),
  ]
  return lines.length === 0 ? 'The database is up to date.' : lines.join('\n')
}
