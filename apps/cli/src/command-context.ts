import type { Readable } from 'node:stream'
import type { ActionInput, ActionName, ActionOutput } from '@muster/actions/client'
import type { SiteProxy } from '@muster/link/site-proxy'
import type { Command } from 'commander'
import type { Access } from './config.ts'
import type { Column } from './table.ts'

/** Input, output and stop signal of the CLI. */
export type CliStreams = {
  out: (text: string) => void
  err: (text: string) => void
  /** Writes prompts and echoed input to the user's terminal. */
  ask: (text: string) => void
  /** Returns standard input; called only by commands that read it. */
  input: () => Readable
  /** True if standard error is a terminal. Progress is then shown as bars instead of lines. */
  isTerminal: boolean
  environment: NodeJS.ProcessEnv
  signal: AbortSignal
}

/** Input, output, hub access and action calls of the CLI, as commands use them. */
export type CommandContext = Omit<CliStreams, 'out'> & {
  /** Reads hub and token from options, environment or configuration files. */
  access: (command: Command) => Promise<Access>
  /** Finds the proxy that leads to a URL. */
  proxyTo: (command: Command, url: string) => Promise<SiteProxy | undefined>
  /** Runs an action at the hub in `access`, with the token in `access`. */
  invokeAt: <N extends ActionName>(access: Access, name: N, input: ActionInput<N>) => Promise<ActionOutput<N>>
  /** Runs an action with the hub and token that `access` finds for the command. */
  invoke: <N extends ActionName>(command: Command, name: N, input: ActionInput<N>) => Promise<ActionOutput<N>>
  /** Writes text to standard output as it is. */
  write: (text: string) => void
  /** Prints a result: as one JSON value with `--json`, else as `text`. */
  print: (command: Command, value: unknown, text?: string) => void
  /** Prints one of several results: as a line of JSON with `--json`, else as `text`. */
  printLine: (command: Command, value: unknown, text: string) => void
  /** Prints rows: as JSON with `--json`, else as a table. */
  printTable: <Row>(command: Command, rows: readonly Row[], columns: readonly Column<Row>[]) => void
}
