import type { Readable } from 'node:stream'
import { withoutSecrets } from '@muster/actions/client'
import { VERSION } from '@muster/actions/version'
import { connectServiceManager } from '@muster/link/service-manager'
import { Command, CommanderError, Option, type OutputConfiguration } from 'commander'
import type { CommandContext } from './command-context.ts'
import { addDeviceCommands } from './commands/device.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEventCommands } from './commands/events.ts'
import { addRepositoryCommands } from './commands/repositories.ts'
import { addRunCommand } from './commands/run.ts'
import { addSimulateCommand } from './commands/simulate.ts'
import { DEFAULT_CONFIG_PATH } from './config.ts'
import { createLog, LOG_LEVELS, type LogLevel } from './log.ts'
import { adviceOn } from './refusal.ts'

/** Output, input and stop signal of the CLI. */
export type CliStreams = {
  out: (text: string) => void
  err: (text: string) => void
  /** Returns standard input; called only by commands that read it. */
  input: () => Readable
  /** Asks a person for a secret; undefined without a terminal. */
  ask?: (question: string) => Promise<string>
  signal: AbortSignal
  environment: Record<string, string | undefined>
}

const EXIT = { ok: 0, failed: 1, usage: 2 } as const

/** Runs the command in `argv`, which excludes the program's name. Returns the exit code: 0 success, 1 failure, 2 wrong usage. */
export async function runCli(
  argv: readonly string[],
  { out, err: write, input, ask, signal, environment }: CliStreams,
): Promise<number> {
  const err = (text: string) => write(withoutSecrets(text))
  const context: CommandContext = {
    signal,
    environment,
    input,
    ask,
    print: line => out(`${line}\n`),
    log: command =>
      createLog({ level: command.optsWithGlobals<{ logLevel: LogLevel }>().logLevel, write: err }),
    serviceManager: log =>
      connectServiceManager(environment, reason =>
        log.error(`systemd-notify failed (${reason}), so systemd does not know that the agent has started`),
      ),
  }
  try {
    await createProgram(context, { writeOut: out, writeErr: err }).parseAsync(argv, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    createLog({ level: 'error', write: err }).error(adviceOn(error))
    return EXIT.failed
  }
}

function createProgram(context: CommandContext, output: OutputConfiguration): Command {
  const program = new Command('muster-agent')
    .description('Connects a device to its hub, or simulates a fleet of devices.')
    .version(VERSION)
    .addOption(
      new Option('--log-level <level>', 'least severe level to write to standard error')
        .choices(LOG_LEVELS)
        .default('info'),
    )
    .addOption(
      new Option('--log-format <format>', 'accepted for units of the public agent; has no effect')
        .choices(['compact', 'full'])
        .default('compact'),
    )
    .option('--config <file>', `configuration file (default: ${DEFAULT_CONFIG_PATH})`)
    .exitOverride()
    .configureOutput(output)
    .showHelpAfterError('(add --help for the options)')
    .configureHelp({ showGlobalOptions: true })
  addRunCommand(program, context)
  addDeviceCommands(program, context)
  addEventCommands(program, context)
  addRepositoryCommands(program, context)
  addDoctorCommand(program, context)
  addSimulateCommand(program, context)
  return program
}
