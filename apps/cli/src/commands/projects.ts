import { readFile } from 'node:fs/promises'
import { type ActionInput, MASKED_HEADER } from '@muster/actions/client'
import { Argument, type Command, InvalidArgumentError } from 'commander'
import { boolean, jsonObject, labelToSet } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { readList } from '../lists.ts'
import { repositoryIdOf } from '../paths.ts'
import { addDeviceList } from './device-lists.ts'
import { addViewCommands } from './views.ts'

/** Adds `muster projects`: projects, their devices, exports, linked repositories and deployment tokens. */
export function addProjectCommands(program: Command, context: CommandContext): void {
  const { invoke, print, printTable } = context
  const group = program
    .command('projects')
    .description('projects with their devices, repositories and tokens')
  group
    .command('list')
    .description('list your projects')
    .action(async (_: object, command: Command) => {
      printTable(command, await readList(context, command, 'projects_Query', {}), [
        { title: 'Id', of: row => row.projectId },
        { title: 'Name', of: row => row.name },
      ])
    })
  group
    .command('info <project>')
    .description('show a project')
    .action(async (projectId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'projects_GetDetails', { projectId }))
    })
  group
    .command('create <organization> <name>')
    .description('create a project')
    .action(async (organizationId: string, name: string, _: object, command: Command) => {
      const created = await invoke(command, 'projects_Create', { organizationId, name })
      print(command, created, created.projectId)
    })
  group
    .command('rename <project> <name>')
    .description('rename a project')
    .action(async (projectId: string, name: string, _: object, command: Command) => {
      print(command, await invoke(command, 'projects_SetName', { projectId, name }), 'Renamed.')
    })
  group
    .command('delete <project>')
    .description('delete a project with its devices')
    .action(async (projectId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'projects_Delete', { projectId }), 'Deleted.')
    })

  const devices = group.command('devices').description('devices of a project')
  addDeviceList(devices, context)

  addViewCommands(group, context)

  const otlp = group.command('otlp').description('export of the events of a project to an OTLP collector')
  otlp
    .command('get <project>')
    .description('show where events are sent, without values of headers')
    .action(async (projectId: string, _: object, command: Command) => {
      const { config } = await invoke(command, 'projects_GetOtlpConfig', { projectId })
      print(command, config)
    })
  otlp
    .command('set <project>')
    .addArgument(new Argument('[config]', 'the JSON').argParser(jsonObject))
    .description(
      `set where events are sent, for administrators of the organization: JSON such as {"enabled": true, "endpoint": "https://collector.example:4318", "headers": {}}; the value ${MASKED_HEADER} keeps a header`,
    )
    .option(
      '--file <file>',
      'file with the JSON, such as /dev/stdin; secrets in arguments are seen by others',
    )
    .action(
      async (
        projectId: string,
        given: Record<string, unknown> | undefined,
        { file }: { file?: string },
        command: Command,
      ) => {
        if ((given === undefined) === (file === undefined))
          throw new CliError('Expected either the JSON or --file.', { exitCode: 2 })
        const config = given ?? objectIn(await readFile(file!, 'utf8'))
        const input = { projectId, config: config as ActionInput<'projects_SetOtlpConfig'>['config'] }
        print(command, await invoke(command, 'projects_SetOtlpConfig', input), 'Changed.')
      },
    )

  const repositories = group
    .command('repositories')
    .description('repositories that the devices of a project may read')
  repositories
    .command('list <project>')
    .description('list repositories')
    .action(async (projectId: string, _: object, command: Command) => {
      printTable(
        command,
        await readList(context, command, 'projects_QueryLinkedRepositories', { projectId }),
        [
          { title: 'Id', of: row => row.repositoryId },
          { title: 'Name', of: row => row.displayName },
          { title: 'In paths', of: row => row.publicName },
        ],
      )
    })
  repositories
    .command('link <project> <repository>')
    .description('let the devices of a project read a repository')
    .action(async (projectId: string, repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      print(command, await invoke(command, 'projects_LinkRepository', { projectId, repositoryId }), 'Linked.')
    })
  repositories
    .command('unlink <project> <repository>')
    .description('no longer let the devices of a project read a repository')
    .action(async (projectId: string, repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      print(
        command,
        await invoke(command, 'projects_UnlinkRepository', { projectId, repositoryId }),
        'Unlinked.',
      )
    })

  const tokens = group.command('tokens').description('deployment tokens of a project')
  tokens
    .command('list <project>')
    .description('list tokens, newest first')
    .action(async (projectId: string, _: object, command: Command) => {
      printTable(command, await readList(context, command, 'projects_QueryDeploymentTokens', { projectId }), [
        { title: 'Id', of: row => row.tokenId },
        { title: 'Name', of: row => row.name },
        { title: 'Created', of: row => row.createdAt },
        { title: 'Auto-accept', of: row => (row.flags.autoAccept ? 'yes' : 'no') },
      ])
    })
  tokens
    .command('create <project> <name>')
    .description('issue a token; its secret is shown only once')
    .option('--auto-accept <boolean>', 'accept the first certificate of new devices', boolean, true)
    .option('--label <key=value>', 'label of the devices that enrol with it, repeatable', labelToSet)
    .action(
      async (
        projectId: string,
        name: string,
        { label: labels, ...flags }: { autoAccept: boolean; label?: Record<string, string> },
        command: Command,
      ) => {
        const input = { projectId, name, flags, ...(labels && { labels }) }
        const created = await invoke(command, 'projects_CreateDeploymentToken', input)
        print(command, created, created.token)
      },
    )
  tokens
    .command('delete <token>')
    .description('revoke a token and disconnect the devices that use it')
    .action(async (tokenId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'projects_DeleteDeploymentToken', { tokenId }), 'Deleted.')
    })
  tokens
    .command('set-flags <token>')
    .description('change the flags of a token')
    .requiredOption('--auto-accept <boolean>', 'accept the first certificate of new devices', boolean)
    .action(async (tokenId: string, flags: { autoAccept: boolean }, command: Command) => {
      print(
        command,
        await invoke(command, 'projects_SetDeploymentTokenFlags', { tokenId, flags }),
        'Changed.',
      )
    })
}

/** The JSON object that a file holds. Throws `CliError` for other contents. */
function objectIn(text: string): Record<string, unknown> {
  try {
    return jsonObject(text)
  } catch (error) {
    throw error instanceof InvalidArgumentError ? new CliError(error.message, { exitCode: 2 }) : error
  }
}
