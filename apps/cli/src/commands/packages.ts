import type { Command } from 'commander'
import { jsonObject } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { readList } from '../lists.ts'
import { packageIdOf, repositoryIdOf } from '../paths.ts'
import { addFileCommands } from './files.ts'
import { addVersionListCommand } from './versions.ts'

/** Adds the command group `packages`: packages of a repository. */
export function addPackageCommands(parent: Command, context: CommandContext): void {
  const { invoke, print, printTable } = context
  const group = parent.command('packages').description('packages of a repository')
  group
    .command('list <repository>')
    .description('list packages, by name')
    .action(async (repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      printTable(command, await readList(context, command, 'repositories_QueryPackages', { repositoryId }), [
        { title: 'Id', of: row => row.packageId },
        { title: 'Name', of: row => row.name },
        { title: 'Kind', of: row => row.kind },
        { title: 'Created', of: row => row.createdAt },
      ])
    })
  group
    .command('info <package>')
    .description('show a package')
    .action(async (path: string, _: object, command: Command) => {
      const packageId = await packageIdOf(context, command, path)
      print(command, await invoke(command, 'repositories_GetPackageDetails', { packageId }))
    })
  group
    .command('create <repository> <name>')
    .description('create a package')
    .option('--kind <kind>', 'kind of the package, any word')
    .option('--metadata <json>', 'any JSON object', jsonObject)
    .action(
      async (
        repository: string,
        name: string,
        options: { kind?: string; metadata?: Record<string, unknown> },
        command: Command,
      ) => {
        const repositoryId = await repositoryIdOf(context, command, repository)
        const created = await invoke(command, 'repositories_CreatePackage', {
          repositoryId,
          name,
          ...options,
        })
        if (created.result === 'NameAlreadyExists')
          throw new CliError(`The package "${name}" exists already.`)
        print(command, created, created.packageId)
      },
    )
  group
    .command('rename <package> <name>')
    .description('rename a package')
    .action(async (path: string, name: string, _: object, command: Command) => {
      const packageId = await packageIdOf(context, command, path)
      const answer = await invoke(command, 'repositories_SetPackageName', { packageId, name })
      if (answer.result === 'NameAlreadyExists') throw new CliError(`The package "${name}" exists already.`)
      print(command, answer, 'Renamed.')
    })
  group
    .command('set-kind <package> [kind]')
    .description('set the kind of a package; without a kind, remove it')
    .action(async (path: string, kind: string | undefined, _: object, command: Command) => {
      const packageId = await packageIdOf(context, command, path)
      print(
        command,
        await invoke(command, 'repositories_SetPackageKind', { packageId, kind: kind ?? null }),
        'Changed.',
      )
    })
  group
    .command('set-metadata <package>')
    .argument('<json>', 'any JSON object', jsonObject)
    .description('replace the metadata of a package')
    .action(async (path: string, metadata: Record<string, unknown>, _: object, command: Command) => {
      const packageId = await packageIdOf(context, command, path)
      const input = { packageId, metadata }
      print(command, await invoke(command, 'repositories_SetPackageMetadata', input), 'Changed.')
    })
  group
    .command('delete <package>')
    .description('delete a package with its versions')
    .action(async (path: string, _: object, command: Command) => {
      const packageId = await packageIdOf(context, command, path)
      print(command, await invoke(command, 'repositories_DeletePackage', { packageId }), 'Deleted.')
    })
  addVersionListCommand(group.command('versions').description('versions of a package'), context)
  addFileCommands(group, context, {
    word: 'package',
    description: 'files of a package itself',
    idOf: packageIdOf,
    add: (command, packageId, file) =>
      invoke(command, 'repositories_AddPackageAsset', { packageId, ...file }),
    remove: (command, packageId, file) =>
      invoke(command, 'repositories_RemovePackageAsset', { packageId, ...file }),
    setMetadata: (command, packageId, file) =>
      invoke(command, 'repositories_SetPackageAssetMetadata', { packageId, ...file }),
  })
}
