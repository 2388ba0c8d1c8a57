import { Argument, type Command, Option } from 'commander'
import { boolean, json, wholeNumber } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { readList } from '../lists.ts'
import { printedJson } from '../printed-json.ts'
import { addDeviceChangeCommands } from './device-changes.ts'
import { addDeviceExport, addDeviceList } from './device-lists.ts'

const STATUSES = { pending: 'Pending', active: 'Active', rejected: 'Rejected', revoked: 'Revoked' } as const
type StatusWord = keyof typeof STATUSES

/** Description of the option of commands that revoke a certificate. */
const KEEP_SUCCESSORS = 'leave certificates active that the device announced with it'
type KeepSuccessors = { keepSuccessors?: boolean }

/** Adds `muster devices` and `muster http-proxy`: a device with its certificates, properties, events and web page. */
export function addDeviceCommands(program: Command, context: CommandContext): void {
  const { invoke, print, printTable } = context
  const group = program
    .command('devices')
    .description('devices of a project, and a device with its properties, certificates and events')
  addDeviceList(group, context)
  addDeviceExport(group, context)
  group
    .command('info <device>')
    .description('show a device')
    .action(async (deviceId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'devices_GetDetails', { deviceId }))
    })
  group
    .command('create <project> <fingerprint>')
    .description('register a device before it connects')
    .action(async (projectId: string, fingerprint: string, _: object, command: Command) => {
      const created = await invoke(command, 'devices_Create', { projectId, fingerprint })
      print(command, created, created.deviceId)
    })
  addDeviceChangeCommands(group, context)
  group
    .command('delete <device>')
    .description('delete a device with its history')
    .action(async (deviceId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'devices_Delete', { deviceId }), 'Deleted.')
    })
  group
    .command('block <device>')
    .description('delete a device, and refuse it in its project from then on')
    .action(async (deviceId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'devices_Block', { deviceId }), 'Blocked and deleted.')
    })

  const properties = group.command('properties').description('properties of a device')
  properties
    .command('list <device>')
    .description('list properties, by name')
    .action(async (deviceId: string, _: object, command: Command) => {
      const { properties } = await invoke(command, 'devices_QueryProperties', { deviceId })
      const rows = Object.entries(properties).map(([name, property]) => ({ ...property, name }))
      printTable(
        command,
        rows.sort((one, other) => (one.name < other.name ? -1 : 1)),
        [
          { title: 'Name', of: row => row.name },
          { title: 'Version', of: row => row.version },
          { title: 'Value', of: row => JSON.stringify(row.value).slice(0, 120) },
        ],
      )
    })
  properties
    .command('get <device> <name>')
    .description('print the value of a property')
    .action(async (deviceId: string, name: string, _: object, command: Command) => {
      const found = await invoke(command, 'devices_GetProperty', { deviceId, name })
      if (found.result === 'NotFound') throw new CliError(`The device has no property "${name}".`)
      print(command, found, printedJson(found.value))
    })
  properties
    .command('set <device> <name>')
    .argument('<json>', 'its value', json)
    .description('set a property to a JSON value')
    .option('--protected <boolean>', 'prevent the device from changing it', boolean)
    .option('--expected-version <version>', 'only if the property has this version', wholeNumber(0))
    .action(
      async (
        deviceId: string,
        name: string,
        value: unknown,
        options: { protected?: boolean; expectedVersion?: number },
        command: Command,
      ) => {
        const answer = await invoke(command, 'devices_SetProperty', { deviceId, name, value, ...options })
        if (answer.result === 'VersionConflict')
          throw new CliError(
            `The property has version ${answer.currentVersion}, expected ${options.expectedVersion}.`,
          )
        print(command, answer, 'Set.')
      },
    )
  properties
    .command('remove <device> <name>')
    .description('remove a property')
    .action(async (deviceId: string, name: string, _: object, command: Command) => {
      const answer = await invoke(command, 'devices_RemoveProperty', { deviceId, name })
      print(command, answer, answer.result === 'Removed' ? 'Removed.' : 'There was no such property.')
    })
  properties
    .command('history <device> <name>')
    .description('show past values of a property, newest first')
    .option('--limit <count>', 'maximum number of rows', wholeNumber(1), 20)
    .action(async (deviceId: string, name: string, { limit }: { limit: number }, command: Command) => {
      printTable(
        command,
        await readList(context, command, 'devices_QueryPropertyHistory', { deviceId, name }, limit),
        [
          { title: 'Changed', of: row => row.changedAt },
          { title: 'Version', of: row => row.version },
          { title: 'By', of: row => row.actorName ?? row.actor.actor },
          {
            title: 'Value',
            of: row => (row.isRemoved ? '(removed)' : JSON.stringify(row.value).slice(0, 120)),
          },
        ],
      )
    })

  const certificates = group.command('certificates').description('certificates of a device')
  certificates
    .command('add <device> <sha256>')
    .description('register a certificate by its fingerprint')
    .addOption(new Option('--status <status>', 'status instead of pending').choices(Object.keys(STATUSES)))
    .action(
      async (
        deviceId: string,
        fingerprint: string,
        { status }: { status?: StatusWord },
        command: Command,
      ) => {
        const input = { deviceId, fingerprint, ...(status && { status: STATUSES[status] }) }
        const added = await invoke(command, 'devices_AddCertificate', input)
        print(command, added, added.certificateId)
      },
    )
  certificates
    .command('set-status <certificate>')
    .addArgument(new Argument('<status>').choices(Object.keys(STATUSES)))
    .description('accept, reject or revoke a certificate')
    .option('--keep-successors', KEEP_SUCCESSORS)
    .action(async (certificateId: string, status: StatusWord, options: KeepSuccessors, command: Command) => {
      const input = { certificateId, status: STATUSES[status], ...options }
      print(command, await invoke(command, 'devices_SetCertificateStatus', input), 'Changed.')
    })
  certificates
    .command('delete <certificate>')
    .description('delete a certificate')
    .option('--keep-successors', KEEP_SUCCESSORS)
    .action(async (certificateId: string, options: KeepSuccessors, command: Command) => {
      const input = { certificateId, ...options }
      print(command, await invoke(command, 'devices_DeleteCertificate', input), 'Deleted.')
    })

  group
    .command('events')
    .description('events of a device')
    .command('list <device>')
    .description('list the latest events, newest first')
    .option('--limit <count>', 'maximum number of rows', wholeNumber(1, 1000), 100)
    .action(async (deviceId: string, { limit }: { limit: number }, command: Command) => {
      const events = await readList(context, command, 'devices_QueryEvents', { deviceId }, limit)
      printTable(command, events, [
        { title: 'Emitted', of: row => row.emittedAt },
        { title: 'Severity', of: row => row.severity },
        { title: 'Category', of: row => row.category },
        { title: 'Body', of: row => JSON.stringify(row.body).slice(0, 120) },
      ])
    })
  group
    .command('connections')
    .description('connections of a device')
    .command('list <device>')
    .description('list connections, newest first')
    .option('--limit <count>', 'maximum number of rows', wholeNumber(1, 1000), 100)
    .option('--active-only <boolean>', 'only open connections', boolean)
    .action(async (deviceId: string, options: { limit: number; activeOnly?: boolean }, command: Command) => {
      const { connections } = await invoke(command, 'devices_QueryConnections', { deviceId, ...options })
      printTable(command, connections, [
        { title: 'Id', of: row => row.connectionId },
        { title: 'Connected', of: row => row.connectedAt },
        { title: 'Ended', of: row => row.endedAt },
        { title: 'Seconds', of: row => row.durationSecs },
        { title: 'Node', of: row => row.nodeName ?? row.nodeId },
      ])
    })

  program
    .command('http-proxy')
    .description('the web page of a device')
    .command('issue-url <device>')
    .description('print a link to the web page for a browser')
    .option('--hostname <name>', 'an unused host name directly below the proxy domain')
    .option('--port <port>', 'port on the device', wholeNumber(1, 65_535))
    .option('--https', 'the web server speaks HTTPS; its certificate is not verified')
    .option('--valid-for <seconds>', 'validity of the link, at most 7200', wholeNumber(1, 31_536_000))
    .action(
      async (
        deviceId: string,
        {
          hostname,
          port,
          https,
          validFor,
        }: { hostname?: string; port?: number; https?: boolean; validFor?: number },
        command: Command,
      ) => {
        const issued = await invoke(command, 'devices_IssueHttpProxyToken', {
          deviceId,
          ...(hostname && { hostname }),
          ...(port && { port }),
          ...(https && { protocol: 'https' as const }),
          ...(validFor && { validForSecs: validFor }),
        })
        print(command, issued, issued.url)
      },
    )
}
