import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { readList } from '../lists.ts'

/** Adds `muster organizations`: the organizations of the user who owns the token. */
export function addOrganizationCommands(program: Command, context: CommandContext): void {
  const group = program.command('organizations').description('your organizations')
  group
    .command('list')
    .description('list organizations')
    .action(async (_options: object, command: Command) => {
      context.printTable(command, await readList(context, command, 'organizations_Query', {}), [
        { title: 'Id', of: row => row.organizationId },
        { title: 'Name', of: row => row.name },
      ])
    })
  group
    .command('create <name>')
    .description('create an organization')
    .action(async (name: string, _options: object, command: Command) => {
      const created = await context.invoke(command, 'organizations_Create', { name })
      context.print(command, created, created.organizationId)
    })
}
