import type { Readable } from 'node:stream'
import type { ServiceManager } from '@muster/link/service-manager'
import type { Command } from 'commander'
import type { Log } from './log.ts'

/** Stop signal, input and output of the CLI, as commands use them. */
export type CommandContext = {
  signal: AbortSignal
  environment: Record<string, string | undefined>
  input: () => Readable
  /** Asks a person for a secret; undefined without a terminal. */
  ask: ((question: string) => Promise<string>) | undefined
  /** Prints a result on standard output. */
  print: (line: string) => void
  /** Creates a log at the level of the option `--log-level`. */
  log: (command: Command) => Log
  /** Reports to systemd, if that started the agent. */
  serviceManager: (log: Log) => ServiceManager
}
