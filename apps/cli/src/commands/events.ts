import { readFile, rename, writeFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { ActionError } from '@muster/actions/client'
import { Backoff } from '@muster/link'
import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { CliError, messageOf } from '../errors.ts'
import { printedJson } from '../printed-json.ts'

/** How long the hub waits for an event, in seconds: its longest wait. */
const WAIT_SECS = 25
/** Longest pause after a failed request, in milliseconds. */
const MAX_PAUSE_MS = 30_000

type FollowOptions = {
  project?: string
  types?: string[]
  after?: string
  state?: string
  fromStart?: boolean
}

/** Adds `muster events`: the feed of events of an organization. */
export function addEventCommands(program: Command, context: CommandContext): void {
  const group = program.command('events').description('events of an organization, as they happen')
  group
    .command('follow <organization>')
    .description('print events as they happen, until Ctrl-C; with --json one object a line')
    .option('--project <project>', 'only events of this project')
    .option('--types <types>', 'only these types, such as devices.Created,projects.*', text =>
      text.split(','),
    )
    .option('--after <cursor>', 'go on after the event with this cursor')
    .option('--from-start', 'begin with the oldest event that is kept, instead of the next one')
    .option('--state <file>', 'keep the cursor in this file: the next run goes on where this one ended')
    .action((organizationId: string, options: FollowOptions, command: Command) =>
      follow(context, command, organizationId, options),
    )
  for (const [name, isOn] of [
    ['on', true],
    ['off', false],
  ] as const)
    group
      .command(`${name} <organization>`)
      .description(`turn the feed of events ${name}`)
      .action(async (organizationId: string, _: object, command: Command) => {
        const input = { organizationId, isOn }
        context.print(command, await context.invoke(command, 'events_SetFeed', input), `Turned ${name}.`)
      })
}

/**
 * Prints events until the command is ended. A request that fails is repeated, and the next one goes on after the last printed event. The
 * file of `--state` is written after the events were printed, so a run that is killed in between prints them again; each has a `cursor` and a
 * `messageId` for a reader that must not see one twice.
 */
async function follow(
  context: CommandContext,
  command: Command,
  organizationId: string,
  { project, types, after: given, state, fromStart = false }: FollowOptions,
): Promise<void> {
  const stored = state === undefined ? undefined : await readState(state)
  let after = given ?? stored
  const backoff = new Backoff({ capMs: MAX_PAUSE_MS })
  for (;;) {
    context.signal.throwIfAborted()
    try {
      const { events, cursor } = await context.invoke(command, 'events_Query', {
        organizationId,
        ...(project && { projectId: project }),
        ...(types && { types }),
        ...(after === undefined ? { from: fromStart ? ('Oldest' as const) : ('Now' as const) } : { after }),
        // Without a cursor, the first answer gives the place from which a request that fails is repeated.
        waitSecs: after === undefined ? 0 : WAIT_SECS,
      })
      backoff.askedToReturn()
      for (const event of events) context.printLine(command, event, lineOf(event))
      if (state !== undefined && cursor !== after) await writeState(state, cursor)
      after = cursor
    } catch (error) {
      context.signal.throwIfAborted()
      if (!mayPass(error)) throw error
      const afterSecs = error instanceof ActionError ? (error.retryAfterSecs ?? 0) : 0
      context.err(`muster: ${messageOf(error)} Trying again.\n`)
      await wait(backoff.nextDelayMs(afterSecs * 1000), undefined, { signal: context.signal })
    }
  }
}

function lineOf({ timestamp, type, data }: { timestamp: string; type: string; data: unknown }): string {
  return `${timestamp}  ${type}  ${printedJson((data as { data?: unknown }).data ?? {}, 0)}`
}

/** Whether the same request may succeed later: the hub or the network is away, or asks to wait. */
function mayPass(error: unknown): boolean {
  if (error instanceof CliError) return !error.isFinal
  return error instanceof ActionError && (error.status >= 500 || [408, 425, 429].includes(error.status))
}

async function readState(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim() || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Replaces the file as a whole, so that a kill leaves the old or the new cursor. */
async function writeState(file: string, cursor: string): Promise<void> {
  await writeFile(`${file}.part`, `${cursor}\n`, { flush: true })
  await rename(`${file}.part`, file)
}
