import { resolve } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { Command, CommanderError, Option } from 'commander'
import { loadConfig } from '../platform/config/config.ts'
import { errorLine } from '../startup/error-line.ts'
import { addAdminCommand } from './admin.ts'
import { addAuditCommand } from './audit.ts'
import { addBackupCommand } from './backup.ts'
import { addCheckConfigCommand } from './check-config.ts'
import { addCheckDowngradeCommand } from './check-downgrade.ts'
import { type CommandLine, type CommandStreams, EXIT } from './command-line.ts'
import { addDatabaseCommand } from './database.ts'
import { addDoctorCommand } from './doctor.ts'
import { addGcCommand } from './gc.ts'
import { addMigrateCommand } from './migrate.ts'
import { addPrintConfigOption } from './print-config.ts'
import { addRebalanceCommand } from './rebalance.ts'
import { addRestoreCommand } from './restore.ts'
import { addStatusCommand } from './status.ts'

type AddCommand = (program: Command, line: CommandLine) => void

/** Commands of the hub, in the order of `--help`. */
const COMMANDS: readonly AddCommand[] = [
  addPrintConfigOption,
  addStatusCommand,
  addCheckConfigCommand,
  addDoctorCommand,
  addBackupCommand,
  addRestoreCommand,
  addDatabaseCommand,
  addMigrateCommand,
  addCheckDowngradeCommand,
  addAdminCommand,
  addAuditCommand,
  addGcCommand,
  addRebalanceCommand,
]

/**
 * Runs a command of `muster-hub`; `words` are the arguments after the program's name. Resolves to the exit code (`EXIT`), never rejects. An
 * error is printed as one line.
 */
export async function runCommand(
  words: readonly string[],
  streams: CommandStreams,
  commands = COMMANDS,
): Promise<number> {
  let exitCode: number = EXIT.ok
  /** Data folder; undefined until the settings are read. */
  let dataDir: string | undefined
  const { environment } = streams
  const line: CommandLine = {
    ...streams,
    settings() {
      const config = loadConfig(environment)
      dataDir = config.dataDir
      return config
    },
    path: argument =>
      resolve((environment.npm_lifecycle_event === 'hub' && environment.INIT_CWD) || '', argument),
    print: (command, value, text) =>
      streams.out(
        command.optsWithGlobals<{ json?: boolean }>().json ? `${JSON.stringify(value)}\n` : `${text}\n`,
      ),
    exitWith: code => {
      exitCode = code
    },
  }
  const program = createProgram(line)
  for (const add of commands) add(program, line)
  try {
    await program.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok
      // Commander has printed the help of a group that was called without one of its commands.
      if (error.code !== 'commander.help') streams.err(`${usageLine(error, program, words)}\n`)
      return EXIT.usage
    }
    streams.err(`${errorLine(error, dataDir)}\n`)
    return exitCode === EXIT.ok ? EXIT.wrong : exitCode
  }
}

function createProgram(line: CommandLine): Command {
  return new Command('muster-hub')
    .description(
      'Starts the hub, with --demo together with a simulated fleet, or runs a command. Settings are environment variables or in a file (docs/operating.md).',
    )
    .usage('[--demo] | COMMAND | --print-config')
    .version(VERSION)
    .addOption(new Option('--demo').hideHelp())
    .option('--json', 'print the result of a command as JSON')
    .exitOverride()
    .configureOutput({ writeOut: line.out, writeErr: line.err, outputError: () => {} })
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', '\nExit codes: 0 done, 1 something is wrong, 2 wrong usage.')
}

/** Describes wrong usage in one line with the command whose help explains the right one. */
function usageLine({ message }: CommanderError, program: Command, words: readonly string[]): string {
  const path: Command[] = [program]
  for (const word of words) {
    const next = path.at(-1)!.commands.find(command => command.name() === word)
    if (next) path.push(next)
  }
  const problem = message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '')
  return `${problem}. See ${path.map(command => command.name()).join(' ')} --help`
}
