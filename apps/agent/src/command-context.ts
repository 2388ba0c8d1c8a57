import type { Readable } from 'node:stream'
import type { Command } from 'commander'
import type { Log } from './log.ts'

/** The parts of the command line that commands use. */
export type CommandContext = {
  signal: AbortSignal
  input: () => Readable
  /** Prints a result on standard output. */
  print: (line: string) => void
  /** A log at the level of the option `--log-level`. */
  log: (command: Command) => Log
}
