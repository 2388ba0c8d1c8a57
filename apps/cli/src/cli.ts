import type { Readable } from 'node:stream'
import {
  ActionError,
  type ActionInput,
  type ActionName,
  type ActionOutput,
  createClient,
  withoutSecrets,
} from '@muster/actions/client'
import { Command, CommanderError, Option } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addCompletionCommand } from './commands/completion.ts'
import { addDeviceCommands } from './commands/devices.ts'
import { addForwardCommand } from './commands/forward.ts'
import { addLoginCommand } from './commands/login.ts'
import { addOrganizationCommands } from './commands/organizations.ts'
import { addProjectCommands } from './commands/projects.ts'
import { addRepositoryCommands } from './commands/repositories.ts'
import { type Access, readAccess } from './config.ts'
import { CliError, EXIT, exitCodeOf, messageOf, rootCauseOf } from './errors.ts'
import { parseExactly, printedJson } from './exact-json.ts'
import { type Column, harmless, table } from './table.ts'
import { trustSystemAuthorities } from './trust.ts'

/** Where the command line reads and writes, and what stops it. */
export type CliStreams = {
  out: (text: string) => void
  err: (text: string) => void
  /** Shows a person at the terminal what they are asked, and what they type. */
  ask: (text: string) => void
  /** Standard input; only asked for by commands that use it. */
  input: () => Readable
  /** Whether a person watches standard error: progress bars, not lines. */
  isTerminal: boolean
  environment: NodeJS.ProcessEnv
  signal: AbortSignal
}

/** What a command is given. */
export type CommandContext = Omit<CliStreams, 'out'> & {
  /** The hub and the token that the command line, the environment or the configuration names. */
  access: (command: Command) => Promise<Access>
  /** Runs an action at a hub. */
  invokeAt: <N extends ActionName>(access: Access, name: N, input: ActionInput<N>) => Promise<ActionOutput<N>>
  /** Runs an action at the hub of `access`. */
  invoke: <N extends ActionName>(command: Command, name: N, input: ActionInput<N>) => Promise<ActionOutput<N>>
  /** Prints a result: as one JSON value with `--json`, else as the text that is given. */
  print: (command: Command, value: unknown, text?: string) => void
  /** Prints rows: as they are with `--json`, else as a table. */
  printTable: <Row>(command: Command, rows: readonly Row[], columns: readonly Column<Row>[]) => void
}

/** Options that every command takes. */
export type GlobalOptions = { hub?: string; token?: string; config?: string; json?: boolean }

/** Runs one command line, without the program's name, and returns the exit code (errors.ts). */
export async function runCli(argv: readonly string[], given: CliStreams): Promise<number> {
  const streams: CliStreams = { ...given, err: text => given.err(harmless(withoutSecrets(text))) }
  try {
    const { program, actions, context } = createProgram(streams)
    // The contract is large; whoever does not name it need not wait for it.
    if (argv.includes(actions.name()))
      (await import('./commands/actions.ts')).addActionCommands(actions, context)
    await program.parseAsync(argv, { from: 'user' })
    return EXIT.ok
  } catch (thrown) {
    const error: unknown = streams.signal.aborted ? streams.signal.reason : thrown
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    streams.err(`muster: ${messageOf(error)}\n`)
    return exitCodeOf(error)
  }
}

/** The whole tree of commands, but for those of the group `actions`. */
function createProgram(streams: CliStreams): { program: Command; actions: Command; context: CommandContext } {
  const { out, err } = streams
  const program = new Command('muster')
    .description('Works with a Muster hub: devices, releases, and every action that it knows.')
    .version(manifest.version)
    .option('--hub <url>', 'address of the hub (MUSTER_HUB)')
    .option('--token <token>', 'user token (MUSTER_TOKEN)')
    .option('--config <file>', 'configuration file with hub-url and token')
    .option('--json', 'print results as JSON')
    // Scripts for the public command line may say them (protocol 7.1); there is no log here.
    .addOption(
      new Option('--log-level <level>')
        .choices(['off', 'error', 'warn', 'info', 'debug', 'trace'])
        .hideHelp(),
    )
    .addOption(new Option('--log-format <format>').choices(['compact', 'full']).hideHelp())
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError('(add --help for the options)')
    .configureHelp({ showGlobalOptions: true })
  const context = createContext(streams)
  addLoginCommand(program, context)
  addOrganizationCommands(program, context)
  addProjectCommands(program, context)
  addDeviceCommands(program, context)
  addForwardCommand(program, context)
  addRepositoryCommands(program, context)
  const actions = program.command('actions').description('every action of the hub, by name')
  addCompletionCommand(program, context)
  return { program, actions, context }
}

function createContext({ out, ...streams }: CliStreams): CommandContext {
  const optionsOf = (command: Command) => command.optsWithGlobals<GlobalOptions>()
  const isJson = (command: Command) => optionsOf(command).json === true
  let found: Promise<Access> | undefined
  // Once for all that a command does: it must not go on elsewhere when somebody changes the file meanwhile.
  const access = (command: Command) => (found ??= readAccess(optionsOf(command), streams.environment))
  const invokeAt: CommandContext['invokeAt'] = async ({ hubUrl, token }, name, input) => {
    trustSystemAuthorities(hubUrl)
    const headers = { authorization: `Bearer ${token}` }
    const invoke = createClient({ baseUrl: hubUrl, headers, parse: parseExactly })
    try {
      return await invoke(name, input, { signal: streams.signal })
    } catch (error) {
      if (error instanceof ActionError && error.status === 0)
        throw new CliError(
          `${hubUrl} could not be reached: ${rootCauseOf(error)}. Is the address right, and does the hub run?`,
          { cause: error },
        )
      throw error
    }
  }
  return {
    ...streams,
    access,
    invokeAt,
    invoke: async (command, name, input) => invokeAt(await access(command), name, input),
    print(command, value, text) {
      out(isJson(command) || text === undefined ? `${printedJson(value)}\n` : `${text}\n`)
    },
    printTable(command, rows, columns) {
      out(isJson(command) ? `${printedJson(rows)}\n` : table(rows, columns))
    },
  }
}
