import { type Command, InvalidArgumentError } from 'commander'
import { jsonObject } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { readList } from '../lists.ts'
import { packageIdOf, versionIdOf, versionPath } from '../paths.ts'
import { addFileCommands } from './files.ts'

type Tag = { tag: string; locked: boolean; reassign: boolean }

/** Adds the command group `versions`: versions of a package with their tags and files. */
export function addVersionCommands(parent: Command, context: CommandContext): void {
  const { invoke, print } = context
  const group = parent.command('versions').description('versions of a package, their tags and files')
  addVersionListCommand(group, context)
  group
    .command('resolve <path>')
    .description('find a version by repository/package/tag; scripts read `.result`')
    .action(async (path: string, _: object, command: Command) => {
      print(command, await invoke(command, 'repositories_ResolveVersionByPath', versionPath(path)))
    })
  group
    .command('info <version>')
    .description('show a version with its files')
    .action(async (path: string, _: object, command: Command) => {
      const versionId = await versionIdOf(context, command, path)
      print(command, await invoke(command, 'repositories_GetVersionDetails', { versionId }))
    })
  group
    .command('create <package>')
    .description('create a version')
    .option('--tag <tag[,locked][,reassign]>', 'tag of the version; may be repeated', addTag, [])
    .option('--name <name>', 'display name')
    .option('--metadata <json>', 'any JSON object', jsonObject)
    .action(
      async (
        path: string,
        { tag, ...options }: { tag: Tag[]; name?: string; metadata?: Record<string, unknown> },
        command: Command,
      ) => {
        const packageId = await packageIdOf(context, command, path)
        const created = await invoke(command, 'repositories_CreateVersion', {
          packageId,
          tags: tag,
          ...options,
        })
        print(command, created, created.versionId)
      },
    )
  group
    .command('delete <version>')
    .description('delete a version')
    .action(async (path: string, _: object, command: Command) => {
      const versionId = await versionIdOf(context, command, path)
      print(command, await invoke(command, 'repositories_DeleteVersion', { versionId }), 'Deleted.')
    })
  group
    .command('rename <version> [name]')
    .description('set the display name of a version; without a name, remove it')
    .action(async (path: string, name: string | undefined, _: object, command: Command) => {
      const versionId = await versionIdOf(context, command, path)
      print(
        command,
        await invoke(command, 'repositories_SetVersionName', { versionId, name: name ?? null }),
        'Renamed.',
      )
    })
  group
    .command('set-metadata <version>')
    .argument('<json>', 'any JSON object', jsonObject)
    .description('replace the metadata of a version')
    .action(async (path: string, metadata: Record<string, unknown>, _: object, command: Command) => {
      const versionId = await versionIdOf(context, command, path)
      const input = { versionId, metadata }
      print(command, await invoke(command, 'repositories_SetVersionMetadata', input), 'Changed.')
    })
  group
    .command('tag <version>')
    .description('add tags to a version, all or none')
    .requiredOption('--tag <tag[,locked][,reassign]>', 'a tag; may be repeated', addTag)
    .action(async (path: string, { tag: tags }: { tag: Tag[] }, command: Command) => {
      const versionId = await versionIdOf(context, command, path)
      print(command, await invoke(command, 'repositories_TagVersion', { versionId, tags }), 'Tagged.')
    })
  group
    .command('untag <version>')
    .description('remove tags from a version, all or none')
    .requiredOption('--tag <tag>', 'a tag; may be repeated', (tag: string, before: string[] = []) => [
      ...before,
      tag,
    ])
    .action(async (path: string, { tag }: { tag: string[] }, command: Command) => {
      const versionId = await versionIdOf(context, command, path)
      const input = { versionId, tags: tag.map(name => ({ tag: name })) }
      print(command, await invoke(command, 'repositories_UntagVersion', input), 'Untagged.')
    })
  addFileCommands(group, context, {
    word: 'version',
    description: 'files of a version',
    idOf: versionIdOf,
    add: (command, versionId, file) =>
      invoke(command, 'repositories_AddVersionAsset', { versionId, ...file }),
    remove: (command, versionId, file) =>
      invoke(command, 'repositories_RemoveVersionAsset', { versionId, ...file }),
    setMetadata: (command, versionId, file) =>
      invoke(command, 'repositories_SetVersionAssetMetadata', { versionId, ...file }),
  })
}

/**
 * Adds the subcommand `list`, which lists the versions of a package. It is part of `muster versions`, and of `muster packages versions`
 * as in the published Nexigon CLI.
 */
export function addVersionListCommand(group: Command, context: CommandContext): void {
  group
    .command('list <package>')
    .description('list versions, newest first')
    .action(async (path: string, _: object, command: Command) => {
      const packageId = await packageIdOf(context, command, path)
      context.printTable(
        command,
        await readList(context, command, 'repositories_QueryPackageVersions', { packageId }),
        [
          { title: 'Id', of: row => row.versionId },
          { title: 'Created', of: row => row.createdAt },
          { title: 'Name', of: row => row.name },
          {
            title: 'Tags',
            of: row => row.tags.map(({ tag, locked }) => (locked ? `${tag} (locked)` : tag)).join(', '),
          },
        ],
      )
    })
}

/**
 * Parses `NAME[,locked][,reassign]`. Both flags are sent even if false: without `reassign: false` the hub would take a tag from another
 * version (docs/protocol.md 7.4).
 */
function addTag(text: string, before: Tag[] = []): Tag[] {
  const [tag = '', ...flags] = text.split(',')
  const unknown = flags.find(flag => flag !== 'locked' && flag !== 'reassign')
  if (tag === '' || unknown !== undefined)
    throw new InvalidArgumentError('Expected NAME[,locked][,reassign].')
  return [...before, { tag, locked: flags.includes('locked'), reassign: flags.includes('reassign') }]
}
