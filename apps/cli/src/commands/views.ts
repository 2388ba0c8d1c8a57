import { type JsonExpr, printPredicate } from '@muster/predicates'
import type { Command } from 'commander'
import { predicate } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { type DeviceColumn, deviceColumns, savedColumns } from '../device-columns.ts'
import { readList } from '../lists.ts'
import { savedView } from '../saved-view.ts'

/** Adds `views` to a group of commands: saved views of the devices of a project. */
export function addViewCommands(group: Command, context: CommandContext): void {
  const { invoke, print, printTable } = context
  const views = group.command('views').description('saved views of the devices of a project')
  views
    .command('list <project>')
    .description('list the views that you see, by name')
    .action(async (projectId: string, _: object, command: Command) => {
      printTable(command, await readList(context, command, 'views_Query', { projectId }), [
        { title: 'Id', of: row => row.viewId },
        { title: 'Name', of: row => row.name },
        { title: 'Seen by', of: row => (row.isShared ? 'everyone' : 'you') },
        {
          title: 'Predicate',
          of: row => row.conditions.predicate && printPredicate(row.conditions.predicate),
        },
      ])
    })
  views
    .command('create <project> <name>')
    .description('save a view')
    .requiredOption('--where <predicate>', 'devices for which this holds', predicate)
    .option('--columns <names>', 'columns beside id and name, as for devices list', deviceColumns)
    .option('--sort <order>', 'order, such as name, -lastSeenAt or =site.floor')
    .option('--shared', 'everyone in the project sees it')
    .action(async (projectId: string, name: string, options: NewView, command: Command) => {
      const { where, columns, sort, shared = false } = options
      const created = await invoke(command, 'views_Create', {
        projectId,
        name,
        conditions: { predicate: where },
        isShared: shared,
        ...(columns && { columns: savedColumns(columns) }),
        ...(sort !== undefined && { order: sort }),
      })
      print(command, created, created.viewId)
    })
  views
    .command('delete <project> <view>')
    .description('delete a view, by its id or its name')
    .action(async (projectId: string, view: string, _: object, command: Command) => {
      const { viewId } = await savedView(context, command, projectId, view)
      print(command, await invoke(command, 'views_Delete', { projectId, viewId }), 'Deleted.')
    })
}

type NewView = { where: JsonExpr; columns?: DeviceColumn[]; sort?: string; shared?: boolean }
