import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { BYTE_ORDER_MARK, csvLine } from '@muster/actions/csv'
import { stringify } from '@muster/actions/exact-json'
import type { JsonExpr } from '@muster/predicates'
import { type Command, Option } from 'commander'
import { allOf, predicate, wholeNumber } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import {
  type DeviceColumn,
  deviceColumns,
  type ListedDevice,
  USUAL_COLUMNS,
  viewColumns,
} from '../device-columns.ts'
import { CliError } from '../errors.ts'
import { readList } from '../lists.ts'
import { retry } from '../retry.ts'
import { savedView } from '../saved-view.ts'

const STATUSES = ['connected', 'disconnected', 'pending'] as const

/** Devices in a page of an export. */
const PAGE_SIZE = 500

type Choice = {
  text?: string
  where?: JsonExpr
  view?: string
  status?: (typeof STATUSES)[number]
  sort?: string
  columns?: DeviceColumn[]
}

/** Adds `list <project>` to a group of commands, with every condition and column that the list of devices has. */
export function addDeviceList(group: Command, context: CommandContext): void {
  const { printTable } = context
  choosing(group.command('list <project>').description('list the devices of a project, by first seen'))
    .option('--limit <count>', 'maximum number of rows', wholeNumber(1))
    .option('--csv', 'print CSV')
    .action(
      async (
        projectId: string,
        { limit, csv = false, ...choice }: Choice & { limit?: number; csv?: boolean },
        command: Command,
      ) => {
        const { input, columns } = await listOf(context, command, projectId, choice)
        const devices = await readList(context, command, 'projects_QueryDevices', input, limit)
        if (csv) {
          const { header, row } = FORMATS.csv
          const shown = columns ?? USUAL_COLUMNS
          return context.write(
            header(shown) + devices.map(device => row(recordOf(device, shown), shown)).join(''),
          )
        }
        if (columns)
          return printTable(
            command,
            devices.map(device => recordOf(device, columns)),
            columns.map(({ name }) => ({ title: name, of: record => cellOf(record[name]) })),
          )
        printTable(command, devices, [
          { title: 'Id', of: row => row.deviceId },
          { title: 'Name', of: row => row.name ?? row.hostname },
          { title: 'Status', of: row => row.status },
          { title: 'Connected', of: row => (row.isConnected ? 'yes' : 'no') },
          { title: 'Pending', of: row => row.pendingCertificatesCount },
          { title: 'Last connected', of: row => row.lastConnectedAt },
        ])
      },
    )
}

/** Adds `export <project>` to a group of commands: a list of any length, page by page, into a file or to standard output. */
export function addDeviceExport(group: Command, context: CommandContext): void {
  choosing(
    group
      .command('export <project>')
      .description('write the devices of a project as CSV (the default), as JSON (--json) or as JSON lines'),
  )
    .addOption(new Option('--csv', 'write CSV').conflicts('jsonl'))
    .option('--jsonl', 'write a line of JSON for each device')
    .option('--output <file>', 'write to this file; after an error the same command continues its FILE.part')
    .action(
      async (
        projectId: string,
        { csv, jsonl, output, ...choice }: Choice & { csv?: boolean; jsonl?: boolean; output?: string },
        command: Command,
      ) => {
        const isJson = command.optsWithGlobals<{ json?: boolean }>().json === true
        if (isJson && (csv || jsonl)) command.error('error: --json cannot be used with --csv or --jsonl')
        const format = FORMATS[isJson ? 'json' : jsonl ? 'jsonl' : 'csv']
        // Without a token nothing is written, and nothing tried again.
        await context.access(command)
        const { input, columns = USUAL_COLUMNS } = await listOf(context, command, projectId, choice)
        const target =
          output === undefined
            ? standardOutput(context)
            : await partialFile(output, JSON.stringify([input, columns.map(({ name }) => name), format.name]))
        let { cursor, count } = target.place
        try {
          if (cursor === undefined) await target.write(format.header(columns), target.place)
          do {
            const page = await readPage(context, command, input, cursor)
            const text = page.devices
              .map((device, at) => format.row(recordOf(device, columns), columns, count + at === 0))
              .join('')
            count += page.devices.length
            cursor = page.nextCursor
            await target.write(cursor === undefined ? text + format.footer : text, { cursor, count })
          } while (cursor !== undefined)
          await target.end()
          context.err(
            `${count} ${count === 1 ? 'device' : 'devices'}${output === undefined ? '' : ` in ${output}`}\n`,
          )
        } catch (error) {
          if (output !== undefined && cursor !== undefined)
            context.err(`${count} devices are in ${output}.part. Run the same command again to continue.\n`)
          throw error
        } finally {
          await target.close()
        }
      },
    )
}

function choosing(command: Command): Command {
  return command
    .option(
      '--text <text>',
      'only devices with this text in name, host name or id, or at the start of an address, serial number, label or property',
    )
    .option(
      '--where <predicate>',
      'only devices for which this holds, such as \'label.site = "pier4"\'',
      predicate,
    )
    .option('--view <view>', 'only devices of this saved view, in its order: its id, or its name')
    .addOption(new Option('--status <status>', 'only devices with this status').choices([...STATUSES]))
    .option('--sort <order>', 'order, such as name, -lastSeenAt or =site.floor')
    .option(
      '--columns <names>',
      'fields of docs/predicates.md, label.KEY and properties, with commas between them',
      deviceColumns,
    )
}

type List = { input: ActionInput<'projects_QueryDevices'>; columns: DeviceColumn[] | undefined }

/** Input of the list, and its columns if some were chosen: by name or with a view. */
async function listOf(
  context: CommandContext,
  command: Command,
  projectId: string,
  { text, where, view, status, sort, columns: named }: Choice,
): Promise<List> {
  const saved = view === undefined ? undefined : await savedView(context, command, projectId, view)
  const predicates = [saved?.conditions.predicate, where].filter(one => one !== undefined)
  const filter = {
    ...saved?.conditions,
    ...(text && { text }),
    ...(predicates.length > 0 && { predicate: allOf(predicates) }),
    ...(status && { status }),
  }
  const order = sort ?? saved?.order
  const columns = named ?? viewColumns(saved?.columns)
  const paths = columns?.flatMap(({ path }) => path ?? []) ?? []
  const input = {
    projectId,
    filter,
    ...(order !== undefined && { sort: order }),
    ...(paths.length > 0 && { columns: paths }),
  }
  return { input, columns }
}

/** Reads a page of an export. Tries again while the hub is away or busy. */
function readPage(
  context: CommandContext,
  command: Command,
  input: List['input'],
  cursor: string | undefined,
): Promise<ActionOutput<'projects_QueryDevices'>> {
  return retry(
    () =>
      context.invoke(command, 'projects_QueryDevices', {
        ...input,
        limit: PAGE_SIZE,
        countTotal: false,
        ...(cursor !== undefined && { cursor }),
      }),
    context.signal,
  )
}

type DeviceRecord = Record<string, unknown>

function recordOf(device: ListedDevice, columns: readonly DeviceColumn[]): DeviceRecord {
  return Object.fromEntries(columns.map(({ name, of }) => [name, of(device)]))
}

function cellOf(value: unknown): string | number | boolean | undefined {
  return typeof value === 'object' && value !== null ? stringify(value) : (value as string | undefined)
}

type Format = {
  name: string
  header: (columns: readonly DeviceColumn[]) => string
  row: (record: DeviceRecord, columns: readonly DeviceColumn[], isFirst?: boolean) => string
  footer: string
}

const FORMATS = {
  csv: {
    name: 'csv',
    header: columns => BYTE_ORDER_MARK + csvLine(columns.map(({ name }) => name)),
    row: (record, columns) => csvLine(columns.map(({ name }) => record[name])),
    footer: '',
  },
  jsonl: { name: 'jsonl', header: () => '', row: record => `${stringify(record)}\n`, footer: '' },
  json: {
    name: 'json',
    header: () => '[',
    row: (record, _, isFirst) => `${isFirst ? '' : ','}\n${stringify(record)}`,
    footer: '\n]\n',
  },
} satisfies Record<string, Format>

/** Where an export stands: the cursor of the next page, and the devices that were written. */
type Place = { cursor?: string | undefined; count: number }

/** File or stream of an export, with the place at which it continues. */
type Target = {
  place: Place
  write: (text: string, next: Place) => Promise<void>
  /** Completes the export. */
  end: () => Promise<void>
  close: () => Promise<void>
}

function standardOutput({ write }: CommandContext): Target {
  return {
    place: { count: 0 },
    write: async text => write(text),
    end: async () => {},
    close: async () => {},
  }
}

/**
 * Opens `PATH.part`. `PATH.part.json` has the place of an export that was interrupted, the bytes until there, and what was exported. An
 * export of something else begins again. The file gets its name when it is complete.
 */
async function partialFile(path: string, what: string): Promise<Target> {
  const part = `${path}.part`
  const state = `${part}.json`
  const found = await readState(state)
  const isSame = found?.what === what && found.place.cursor !== undefined
  const file = await open(part, isSame ? 'r+' : 'w').catch((cause: Error) => {
    throw new CliError(`${part} could not be written: ${cause.message}.`, { cause, isFinal: true })
  })
  let bytes = isSame ? found.bytes : 0
  await file.truncate(bytes)
  return {
    place: isSame ? found.place : { count: 0 },
    async write(text, place) {
      const data = Buffer.from(text)
      for (let at = 0; at < data.length; )
        at += (await file.write(data, at, data.length - at, bytes + at)).bytesWritten
      bytes += data.length
      await writeFile(state, JSON.stringify({ what, bytes, place }))
    },
    async end() {
      await file.sync()
      await rename(part, path)
      await rm(state, { force: true })
    },
    close: () => file.close(),
  }
}

type State = { what: string; bytes: number; place: Place }

async function readState(path: string): Promise<State | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as State
  } catch {
    return undefined
  }
}
