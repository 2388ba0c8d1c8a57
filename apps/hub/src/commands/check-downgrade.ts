import type { Command } from 'commander'
import { instanceAccess } from '../platform/database/server/instance-access.ts'
import { requireSuitableFor } from '../platform/database/server/migrate.ts'
import { withClient } from '../platform/database/server/with-client.ts'
import type { CommandLine } from './command-line.ts'
import { quietLog } from './instance-database.ts'

/**
 * Adds `muster-hub check-downgrade`, which checks whether an older release can run on the database, and changes nothing. The Debian package
 * of that release calls the one that is installed (deploy/debian/muster-hub/preinst).
 */
export function addCheckDowngradeCommand(program: Command, line: CommandLine): void {
  program
    .command('check-downgrade')
    .description('check whether an older release can run on the database; changes nothing')
    .argument('<release>', 'version of the older release')
    .argument('<migration>', 'newest migration that it knows, such as 0030_cluster.sql')
    .action(async (release: string, migration: string, _options: object, command: Command) => {
      const config = line.settings()
      const warnings = config.retiredSettings.map(
        name => `${name} is set: release ${release} applies it, while this release ignores it.`,
      )
      await using instance = await instanceAccess(config, quietLog(config))
      await withClient(instance.access.owner, client => requireSuitableFor(client, release, migration))
      const lines = [
        `Release ${release} can run on this database.`,
        ...warnings.map(warning => `Warning: ${warning}`),
      ]
      line.print(command, { canRun: true, warnings }, lines.join('\n'))
    })
}
