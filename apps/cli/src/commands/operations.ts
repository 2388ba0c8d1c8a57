import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { parseExact } from '@muster/actions/exact-json'
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { readList } from '../lists.ts'

type Steps = ActionInput<'devices_CreateOperation'>['steps']
type Operation = Extract<ActionOutput<'devices_GetOperation'>, { result: 'Found' }>

/** Interval in milliseconds at which a watched operation is read. */
const WATCH_MS = 2_000
/** Statuses of an operation that has ended. */
const ENDED = ['Succeeded', 'Failed', 'TimedOut', 'Cancelled']

type CreateOptions = { steps: string; description?: string; start?: boolean }

/** Adds `muster operations`: steps that the hub and a device do one after the other. */
export function addOperationCommands(program: Command, context: CommandContext): void {
  const { invoke, print, printTable, printLine, signal } = context
  const group = program
    .command('operations')
    .description('steps that the hub and a device do one after the other')

  const read = async (command: Command, deviceOperationId: string): Promise<Operation> => {
    const answer = await invoke(command, 'devices_GetOperation', { deviceOperationId })
    if (answer.result === 'Found') return answer
    throw new CliError(`Found no operation ${deviceOperationId}, or none that you may see.`)
  }

  group
    .command('list <device>')
    .description('list the operations of a device, newest first')
    .option('--limit <count>', 'maximum number of rows; 100 by default', wholeNumber(1), 100)
    .action(async (deviceId: string, { limit }: { limit: number }, command: Command) => {
      printTable(command, await readList(context, command, 'devices_QueryOperations', { deviceId }, limit), [
        { title: 'Id', of: row => row.deviceOperationId },
        { title: 'Name', of: row => row.name },
        { title: 'Status', of: row => row.status },
        { title: 'Step', of: row => `${row.stepIndex} of ${row.stepCount}` },
        { title: 'Created', of: row => row.createdAt },
        { title: 'Now', of: row => row.waitingFor ?? row.lastError },
      ])
    })
  group
    .command('info <operation>')
    .description('show an operation with its steps')
    .action(async (id: string, _: object, command: Command) => {
      print(command, await read(command, id))
    })
  group
    .command('create <device> <name>')
    .description('create an operation; prints its id')
    .requiredOption('--steps <file>', 'file with the list of steps, as JSON')
    .option('--description <text>', 'what it is for')
    .option('--start', 'start it at once')
    .action(async (deviceId: string, name: string, options: CreateOptions, command: Command) => {
      const { steps: file, description, start } = options
      const made = await invoke(command, 'devices_CreateOperation', {
        deviceId,
        name,
        steps: await readSteps(file),
        ...(description !== undefined && { description }),
      })
      if (start)
        await invoke(command, 'devices_StartOperation', { deviceOperationId: made.deviceOperationId })
      print(command, made, made.deviceOperationId)
    })
  group
    .command('start <operation>')
    .description('start an operation, or let one go on that a restore holds')
    .action(async (deviceOperationId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'devices_StartOperation', { deviceOperationId }), 'Started.')
    })
  group
    .command('cancel <operation>')
    .description('cancel an operation; steps that are done stay done')
    .action(async (deviceOperationId: string, _: object, command: Command) => {
      print(command, await invoke(command, 'devices_CancelOperation', { deviceOperationId }), 'Cancelled.')
    })
  group
    .command('watch <operation>')
    .description('print each change until the operation ends; fails unless it succeeds')
    .action(async (id: string, _: object, command: Command) => {
      for (let shown = ''; ; ) {
        const { summary } = await read(command, id)
        const { status, stepIndex, stepCount, waitingFor, lastError } = summary
        const text = [`${status}, step ${stepIndex} of ${stepCount}`, waitingFor ?? lastError]
          .filter(Boolean)
          .join(': ')
        if (text !== shown) printLine(command, summary, text)
        shown = text
        if (ENDED.includes(status)) {
          if (status !== 'Succeeded') throw new CliError(`The operation ended as ${status}.`)
          return
        }
        await sleep(WATCH_MS, undefined, { signal })
      }
    })
}

/** Reads a file with steps. Numbers keep their digits. */
async function readSteps(file: string): Promise<Steps> {
  let steps: unknown
  try {
    steps = parseExact(await readFile(file, 'utf8'))
  } catch (cause) {
    throw new CliError(`--steps: found no JSON in ${file}, expected a list of steps`, { cause })
  }
  if (!Array.isArray(steps)) throw new CliError(`--steps: found no list in ${file}, expected a list of steps`)
  return steps as Steps
}
