import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { issueUrl, resolveRepository, resolveVersion, versionInfo } from '../one-shot.ts'
import { oneShotsFor, withIdentityOptions } from './identity-options.ts'

/** Adds the command group `repositories`: queries on the repositories linked to the device's project (docs/protocol.md 8.3, 9). */
export function addRepositoryCommands(program: Command, context: CommandContext): void {
  const repositories = program
    .command('repositories')
    .description('Repositories linked to the project of this device.')
  const versions = repositories.command('versions').description('Versions of packages.')
  const run = oneShotsFor(context)

  withIdentityOptions(repositories.command('resolve'))
    .description('Finds a repository.')
    .argument('<repository>', 'its name in paths, or its id')
    .action((repository: string, _options, command: Command) => run(command, resolveRepository(repository)))
  withIdentityOptions(repositories.command('issue-url'))
    .description('Prints a short-lived link for downloading a file.')
    .argument('<asset>', 'repository/package/tag/file, or the id of its blob')
    .option('--filename <name>', 'file name for saving in a browser')
    .action((path: string, { filename }: { filename?: string }, command: Command) =>
      run(command, issueUrl(path, filename)),
    )
  withIdentityOptions(versions.command('resolve'))
    .description('Finds a version; prints "NotFound" if there is none.')
    .argument('<path>', 'repository/package/tag')
    .action((path: string, _options, command: Command) => run(command, resolveVersion(path)))
  withIdentityOptions(versions.command('info'))
    .description('Prints the files, tags and metadata of a version.')
    .argument('<version>', 'repository/package/tag, or its id')
    .action((path: string, _options, command: Command) => run(command, versionInfo(path)))
}
