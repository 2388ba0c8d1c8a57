import type { Readable } from 'node:stream'
import type { ActionInput, ActionName, ActionOutput } from '@muster/actions/client'
import type { Command } from 'commander'
import type { Access } from './config.ts'
import type { Column } from './table.ts'

/** Input, output and stop signal of the command line. */
export type CliStreams = {
  out: (text: string) => void
  err: (text: string) => void
  /** Writes questions and typed characters to the person's terminal. */
  ask: (text: string) => void
  /** Returns standard input. Only commands that read it call this. */
  input: () => Readable
  /** True when standard error is a terminal: shows progress bars instead of lines. */
  isTerminal: boolean
  environment: NodeJS.ProcessEnv
  signal: AbortSignal
}

/** The parts of the command line that commands use. */
export type CommandContext = Omit<CliStreams, 'out'> & {
  /** Hub and token from options, environment or configuration files. */
  access: (command: Command) => Promise<Access>
  /** Runs an action at a hub. */
  invokeAt: <N extends ActionName>(access: Access, name: N, input: ActionInput<N>) => Promise<ActionOutput<N>>
  /** Runs an action at the hub of `access`. */
  invoke: <N extends ActionName>(command: Command, name: N, input: ActionInput<N>) => Promise<ActionOutput<N>>
  /** Prints a result: as one JSON value with `--json`, else as `text`. */
  print: (command: Command, value: unknown, text?: string) => void
  /** Prints rows: as JSON with `--json`, else as a table. */
  printTable: <Row>(command: Command, rows: readonly Row[], columns: readonly Column<Row>[]) => void
}
