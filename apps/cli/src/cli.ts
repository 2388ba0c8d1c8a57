import { ActionError, createClient, withoutSecrets } from '@muster/actions/client'
import { parseExact } from '@muster/actions/exact-json'
import { VERSION } from '@muster/actions/version'
import { Command, CommanderError, Option } from 'commander'
import type { CliStreams, CommandContext } from './command-context.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addDeviceCommands } from './commands/devices.ts'
import { addEventCommands } from './commands/events.ts'
import { addForwardCommand } from './commands/forward.ts'
import { addLoginCommand } from './commands/login.ts'
import { addOperationCommands } from './commands/operations.ts'
import { addOrganizationCommands } from './commands/organizations.ts'
import { addProjectCommands } from './commands/projects.ts'
import { addRepositoryCommands } from './commands/repositories.ts'
import { addWebhookCommands } from './commands/webhooks.ts'
import { type Access, type GlobalOptions, readAccess, siteProxy } from './config.ts'
import { CliError, EXIT, exitCodeOf, messageOf, rootCauseOf } from './errors.ts'
import { printedJson } from './printed-json.ts'
import { fetchVia } from './proxied-fetch.ts'
import { harmless, table } from './table.ts'
import { trustSystemAuthorities } from './trust.ts'

/** Runs the command in `argv`, which excludes the program's name. Returns the exit code (errors.ts). */
export async function runCli(argv: readonly string[], given: CliStreams): Promise<number> {
  const streams: CliStreams = { ...given, err: text => given.err(harmless(withoutSecrets(text))) }
  try {
    const { program, actions, context } = createProgram(streams)
    // The contract of all actions is large, so it is loaded only for the command group `actions`.
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

/** Builds all commands. The group `actions` is returned empty; `runCli` adds its subcommands on demand. */
function createProgram(streams: CliStreams): { program: Command; actions: Command; context: CommandContext } {
  const { out, err } = streams
  const program = new Command('muster')
    .description('Works with a Muster hub: devices, releases, and all of its actions.')
    .version(VERSION)
    .option('--hub <url>', 'address of the hub (MUSTER_HUB)')
    .option('--token <token>', 'user token (MUSTER_TOKEN)')
    .option('--config <file>', 'configuration file with hub-url and token')
    .option('--proxy-url <url>', 'HTTP proxy that leads to the hub (HTTPS_PROXY)')
    .option('--json', 'print results as JSON')
    // These options are accepted but ignored, because scripts for the published Nexigon CLI may pass them (docs/protocol.md 7.1).
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
  addOperationCommands(program, context)
  addEventCommands(program, context)
  addWebhookCommands(program, context)
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
  // Hub and token are read once. Otherwise a configuration file that changes while the command runs could send its later
  // requests to another hub.
  const access = (command: Command) => (found ??= readAccess(optionsOf(command), streams.environment))
  const invokeAt: CommandContext['invokeAt'] = async ({ hubUrl, token, proxyUrl }, name, input) => {
    const proxy = siteProxy(hubUrl, proxyUrl, streams.environment)
    trustSystemAuthorities(hubUrl, proxy?.url)
    const headers = { authorization: `Bearer ${token}` }
    const invoke = createClient({ baseUrl: hubUrl, headers, parse: parseExact, fetch: fetchVia(proxy) })
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
    proxyTo: async (command, url) => siteProxy(url, (await access(command)).proxyUrl, streams.environment),
    invokeAt,
    invoke: async (command, name, input) => invokeAt(await access(command), name, input),
    write: out,
    print(command, value, text) {
      out(isJson(command) || text === undefined ? `${printedJson(value)}\n` : `${text}\n`)
    },
    printLine(command, value, text) {
      out(isJson(command) ? `${printedJson(value, 0)}\n` : `${harmless(text)}\n`)
    },
    printTable(command, rows, columns) {
      out(isJson(command) ? `${printedJson(rows)}\n` : table(rows, columns))
    },
  }
}
