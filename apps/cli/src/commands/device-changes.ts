import { readFile } from 'node:fs/promises'
import type { ActionInput } from '@muster/actions/client'
import { type JsonExpr, NamePatternError, readNamePattern } from '@muster/predicates'
import { type Command, InvalidArgumentError } from 'commander'
import { allOf, type LabelChanges, labelChange, predicate, wholeNumber } from '../arguments.ts'
import { type ChangeOptions, runChange, runUndo, withChangeOptions } from '../bulk-change.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { savedView } from '../saved-view.ts'

type Selection = ActionInput<'devices_CreateBulkLabels'>['selection']
type KeyKind = Pick<ActionInput<'devices_CreateBulkImport'>, 'by' | 'property'>

/** Options that select devices of a project. */
type SelectionOptions = Partial<ChangeOptions> & { where?: JsonExpr; view?: string }

/** Adds the commands of `muster devices` that change names and labels, of one device or of many. */
export function addDeviceChangeCommands(group: Command, context: CommandContext): void {
  const { invoke, print } = context
  withSelection(
    group
      .command('label')
      .argument(
        '[arguments...]',
        'without --project first the device; KEY=VALUE sets a label, KEY- removes it',
      )
      .description(
        'set and remove labels of a device, or of many with --project; without changes, show them',
      ),
  ).action(async (texts: string[], options: SelectionOptions, command: Command) => {
    const isOne = options.project === undefined
    const deviceId = isOne ? texts[0] : undefined
    const wanted = labelChanges(command, isOne ? texts.slice(1) : texts)
    if (options.project !== undefined) {
      if (!wanted) throw usage(command, 'Expected KEY=VALUE or KEY- for the labels to change.')
      const selection = await selectionOf(context, command, options)
      const input = { projectId: options.project, selection, ...wanted }
      const preview = await invoke(command, 'devices_CreateBulkLabels', input)
      return runChange(context, command, preview, { ...options, project: options.project })
    }
    if (deviceId === undefined) throw usage(command, "missing required argument 'device', or --project")
    refuseSelection(command, options)
    const { labels = {} } = wanted
      ? await invoke(command, 'devices_SetLabels', { deviceId, ...wanted })
      : await invoke(command, 'devices_GetDetails', { deviceId })
    const lines = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .toSorted()
    print(command, { labels }, lines.length > 0 ? lines.join('\n') : 'No labels.')
  })

  withSelection(
    group
      .command('rename')
      .argument('[device]', 'id of one device')
      .argument('[name]', 'its name; without it, the name is removed')
      .description('rename a device, or many with --project and --pattern')
      .option(
        '--pattern <pattern>',
        'names of many devices: text with {hostname}, {name}, {id}, {index}, {index:3} and {label:KEY}',
        namePattern,
      )
      .option('--first-index <number>', '{index} of the first device, 1 by default', wholeNumber(0)),
  ).action(
    async (
      deviceId: string | undefined,
      name: string | undefined,
      options: SelectionOptions & { pattern?: string; firstIndex?: number },
      command: Command,
    ) => {
      const { project, pattern, firstIndex } = options
      if (project !== undefined) {
        if (pattern === undefined || deviceId !== undefined)
          throw usage(command, 'Expected --pattern and no device with --project.')
        const selection = await selectionOf(context, command, options)
        const input = {
          projectId: project,
          selection,
          pattern,
          ...(firstIndex !== undefined && { firstIndex }),
        }
        const preview = await invoke(command, 'devices_CreateBulkRename', input)
        return runChange(context, command, preview, { ...options, project })
      }
      if (deviceId === undefined) throw usage(command, "missing required argument 'device', or --project")
      if (pattern !== undefined) throw usage(command, 'Expected --project with --pattern.')
      refuseSelection(command, options)
      print(command, await invoke(command, 'devices_SetName', { deviceId, name: name ?? null }), 'Renamed.')
    },
  )

  withChangeOptions(
    group
      .command('import <file>')
      .description('name and label devices by a CSV file with the headers name and label.KEY')
      .requiredOption('--project <project>', 'project of the devices')
      .requiredOption(
        '--by <key>',
        'what names a device in a row: id, hostname, mac, fingerprint or property:NAME',
        keyKind,
      )
      .option('--key <header>', 'header of the column with it')
      .option('--empty-removes', 'an empty cell removes the label or name, instead of leaving it'),
  ).action(
    async (
      file: string,
      options: ChangeOptions & { by: KeyKind; key?: string; emptyRemoves?: boolean },
      command: Command,
    ) => {
      const preview = await readFileToPreview(context, command, file, options)
      return runChange(context, command, preview, options)
    },
  )

  group
    .command('undo <bulk-action>')
    .description('set the labels and names again that a bulk action replaced, for 10 min after its end')
    .requiredOption('--project <project>', 'project of the devices')
    .action((bulkActionId: string, { project }: { project: string }, command: Command) =>
      runUndo(context, command, project, bulkActionId),
    )
}

function withSelection(command: Command): Command {
  return withChangeOptions(
    command
      .option('--project <project>', 'change many devices of this project')
      .option(
        '--where <predicate>',
        'those for which this holds, such as \'label.site = "pier4"\'',
        predicate,
      )
      .option('--view <view>', 'those of this saved view: its id, or its name'),
  )
}

/** The devices that options select. Those of a view and a predicate are in both. */
async function selectionOf(
  context: CommandContext,
  command: Command,
  { project, where, view }: SelectionOptions,
): Promise<Selection> {
  if (where === undefined && view === undefined)
    throw usage(
      command,
      'Expected --where or --view with --project, so that not all devices are changed by mistake.',
    )
  const saved = view === undefined ? undefined : await savedView(context, command, project!, view)
  if (saved && where === undefined) return { kind: 'view', viewId: saved.viewId }
  const predicates = [saved?.conditions.predicate, where].filter(one => one !== undefined)
  return { kind: 'filter', filter: { ...saved?.conditions, predicate: allOf(predicates) } }
}

function refuseSelection(command: Command, { where, view }: SelectionOptions): void {
  if (where !== undefined || view !== undefined)
    throw usage(command, 'Expected --project with --where and --view.')
}

function labelChanges(command: Command, texts: readonly string[]): LabelChanges | undefined {
  try {
    return texts.reduce<LabelChanges | undefined>((before, text) => labelChange(text, before), undefined)
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw usage(command, error.message)
    throw error
  }
}

/** Ends the command as wrongly used. Typed as an error, so that the compiler knows that nothing follows. */
function usage(command: Command, message: string): Error {
  return command.error(`error: ${message}`, { exitCode: 2, code: 'commander.invalidArgument' })
}

function namePattern(text: string): string {
  try {
    readNamePattern(text)
    return text
  } catch (error) {
    if (error instanceof NamePatternError) throw new InvalidArgumentError(`${error.message}.`)
    throw error
  }
}

function keyKind(text: string): KeyKind {
  switch (text) {
    case 'id':
    case 'hostname':
    case 'mac':
      return { by: text }
    case 'fingerprint':
      return { by: 'fingerprintId' }
  }
  const property = /^property:(.+)$/s.exec(text)?.[1]
  if (property !== undefined) return { by: 'property', property }
  throw new InvalidArgumentError('Expected id, hostname, mac, fingerprint or property:NAME.')
}

/** Sends the rows of a file to the hub, and resolves to the preview. */
async function readFileToPreview(
  { invoke, err }: CommandContext,
  command: Command,
  file: string,
  {
    project: projectId,
    by,
    key,
    emptyRemoves = false,
  }: ChangeOptions & { by: KeyKind; key?: string; emptyRemoves?: boolean },
) {
  const { CsvError, decodeText, importPortions, readImport } = await import('@muster/csv')
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new CliError(`${file} could not be read: ${(cause as Error).message}.`, { cause })
  })
  const read = () => {
    try {
      const { text, encoding } = decodeText(bytes)
      return { ...readImport(text, { ...by, ...(key !== undefined && { header: key }) }), encoding }
    } catch (error) {
      if (error instanceof CsvError) throw new CliError(`${file}: ${error.message}`, { cause: error })
      throw error
    }
  }
  const { columns, ignored, rows, keyHeader, encoding } = read()
  if (encoding === 'windows-1252') err(`${file} is no UTF-8; it is read as Windows-1252.\n`)
  if (ignored.length > 0) err(`Columns that change nothing: ${ignored.join(', ')}.\n`)
  err(
    `Read ${rows.length === 1 ? '1 row' : `${rows.length} rows`} with ${columns.join(', ')} by ${keyHeader}.\n`,
  )
  const { bulkActionId } = await invoke(command, 'devices_CreateBulkImport', {
    projectId,
    ...by,
    columns,
    emptyRemoves,
  })
  for (const portion of importPortions(rows))
    await invoke(command, 'devices_AddBulkImportRows', { projectId, bulkActionId, rows: portion })
  return invoke(command, 'devices_GetBulkPreview', { projectId, bulkActionId })
}
