import { Argument, type Command, Option } from 'commander'
import { jsonObject } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { readList } from '../lists.ts'
import { assetOf, repositoryIdOf } from '../paths.ts'
import { addAssetCommands } from './assets.ts'
import { addPackageCommands } from './packages.ts'
import { addVersionCommands } from './versions.ts'

const VISIBILITIES = { public: 'Public', private: 'Private' } as const
type VisibilityWord = keyof typeof VISIBILITIES

/** Adds `muster repositories` with packages, versions and assets below it. These three groups are top-level commands as well. */
export function addRepositoryCommands(program: Command, context: CommandContext): void {
  const { invoke, print, printTable } = context
  const group = program
    .command('repositories')
    .description('repositories of packages, their versions and files')
  group
    .command('list <organization>')
    .description('list the repositories of an organization')
    .action(async (organizationId: string, _: object, command: Command) => {
      printTable(
        command,
        await readList(context, command, 'organizations_QueryRepositories', { organizationId }),
        [
          { title: 'Id', of: row => row.repositoryId },
          { title: 'Name', of: row => row.displayName },
          { title: 'In paths', of: row => row.publicName },
        ],
      )
    })
  group
    .command('resolve <repository>')
    .description('find a repository by its name in paths')
    .action(async (repository: string, _: object, command: Command) => {
      print(command, await invoke(command, 'repositories_ResolveName', { repository }))
    })
  group
    .command('info <repository>')
    .description('show a repository')
    .action(async (repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      print(command, await invoke(command, 'repositories_GetDetails', { repositoryId }))
    })
  group
    .command('create <organization> <name>')
    .description(
      'create a repository; a name of letters, digits, dots and dashes is its handle in paths as well',
    )
    .addOption(
      new Option('--visibility <visibility>', 'public or private').choices(Object.keys(VISIBILITIES)),
    )
    .action(
      async (
        organizationId: string,
        name: string,
        { visibility: word }: { visibility?: VisibilityWord },
        command: Command,
      ) => {
        const created = await invoke(command, 'repositories_Create', {
          organizationId,
          name,
          ...(word && { visibility: VISIBILITIES[word] }),
        })
        if (created.result === 'NameAlreadyExists')
          throw new CliError(`The repository "${name}" exists already.`)
        print(command, created, created.repositoryId)
      },
    )
  group
    .command('rename <repository> <name>')
    .description('change the display name')
    .action(async (repository: string, displayName: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      print(
        command,
        await invoke(command, 'repositories_SetDisplayName', { repositoryId, displayName }),
        'Renamed.',
      )
    })
  group
    .command('set-slug <repository> <slug>')
    .description('change the handle in paths')
    .action(async (repository: string, slug: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      const answer = await invoke(command, 'repositories_SetSlug', { repositoryId, slug })
      if (answer.result === 'SlugAlreadyExists') throw new CliError(`"${slug}" is taken.`)
      print(command, answer, 'Changed.')
    })
  group
    .command('set-visibility <repository>')
    .addArgument(new Argument('<visibility>').choices(Object.keys(VISIBILITIES)))
    .description('make a repository public or private')
    .action(async (repository: string, word: VisibilityWord, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      const input = { repositoryId, visibility: VISIBILITIES[word] }
      print(command, await invoke(command, 'repositories_SetVisibility', input), 'Changed.')
    })
  group
    .command('delete <repository>')
    .description('delete a repository')
    .option('--with-packages', 'also if it has packages, with everything in it')
    .action(async (repository: string, { withPackages }: { withPackages?: true }, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      const packages = withPackages
        ? []
        : await readList(context, command, 'repositories_QueryPackages', { repositoryId }, 1)
      if (packages.length > 0)
        throw new CliError(
          `Nothing was deleted: the repository has packages, such as ${packages[0]!.name}. Add --with-packages to delete it with everything in it.`,
        )
      print(command, await invoke(command, 'repositories_Delete', { repositoryId }), 'Deleted.')
    })
  group
    .command('issue-url <asset>')
    .description('print a short-lived link for downloading a file')
    .option('--filename <name>', 'file name for saving in a browser')
    .action(async (path: string, { filename }: { filename?: string }, command: Command) => {
      const asset = await assetOf(context, command, path)
      const input = {
        assetId: asset.assetId,
        filename: filename ?? asset.filename?.split('/').at(-1) ?? null,
      }
      const issued = await invoke(command, 'repositories_IssueAssetDownloadUrl', input)
      print(command, issued, issued.url)
    })
  group
    .command('projects')
    .description('projects whose devices may read a repository')
    .command('list <repository>')
    .description('list projects')
    .action(async (repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      printTable(
        command,
        await readList(context, command, 'repositories_QueryLinkedProjects', { repositoryId }),
        [
          { title: 'Id', of: row => row.projectId },
          { title: 'Name', of: row => row.name },
        ],
      )
    })
  const s3 = group.command('s3').description('where a repository keeps its blobs')
  s3.command('get <repository>')
    .description('show the settings without the secret')
    .action(async (repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      print(command, await invoke(command, 'repositories_GetS3Config', { repositoryId }))
    })
  s3.command('set <repository>')
    .argument('<json>', 'the configuration', jsonObject)
    .description(
      'change the settings after testing them: {"endpoint", "bucket", "accessKeyId", "secretAccessKey", …}',
    )
    .action(async (repository: string, s3Config: object, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      const input = { repositoryId, s3Config: s3Config as never }
      print(command, await invoke(command, 'repositories_SetS3Config', input), 'Set.')
    })
  s3.command('remove <repository>')
    .description('keep new blobs in the storage of the hub; blobs in the object store stay there')
    .action(async (repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      print(command, await invoke(command, 'repositories_RemoveS3Config', { repositoryId }), 'Removed.')
    })
  for (const parent of [program, group]) {
    addPackageCommands(parent, context)
    addVersionCommands(parent, context)
    addAssetCommands(parent, context)
  }
}
