import { type Command, CommanderError } from 'commander'
import { describeSettings } from '../platform/config/config.ts'
import type { CommandLine } from './command-line.ts'

/** Adds `muster-hub --print-config`, which prints all settings with their origins and without secrets, as a configuration file. */
export function addPrintConfigOption(program: Command, line: CommandLine): void {
  program.option('--print-config', 'print all settings and where they come from, without secrets')
  program.on('option:print-config', () => {
    line.out(describeSettings(line.environment))
    // Ends the program as `--version` does.
    throw new CommanderError(0, 'muster-hub.printConfig', '')
  })
}
