import type { Command } from 'commander'
import type { Config } from '../platform/config/config.ts'

/**
 * Exit codes of commands: done, and what the command checks is in order; something is wrong, or the command failed; wrong usage.
 */
export const EXIT = { ok: 0, wrong: 1, usage: 2 } as const

/** Streams and environment of a command; tests replace them. */
export type CommandStreams = {
  /** Writes to standard output. Throws if that is not possible. */
  out: (text: string) => void
  /** Writes to standard error. */
  err: (text: string) => void
  input: () => NodeJS.ReadableStream
  environment: Record<string, string | undefined>
  /** Installs handlers of SIGINT and SIGTERM, whose first signal aborts the result. Without a call, a signal ends the process. */
  stopSignal: () => AbortSignal
  /** Lowers the priority of the process, so that the hub and its database go first. */
  lowerPriority: () => void
}

/** Functions that `run-command.ts` passes to each command: for its settings, paths, output and exit code. */
export type CommandLine = CommandStreams & {
  /** Reads the settings as a start does. Throws `ConfigError`. */
  settings(): Config
  /** Resolves a path of an argument. `npm run hub` starts in the checkout, but such paths refer to the caller's folder. */
  path(argument: string): string
  /** Prints the result: `value` as one line of JSON with `--json`, else the text, to which a line break is added. */
  print(command: Command, value: unknown, text: string): void
  /** Sets the exit code of the command, also for an error that it throws later. */
  exitWith(code: number): void
}

/** Thrown by a command that cannot do its work. The message is one line: what was found, what was expected, what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}
