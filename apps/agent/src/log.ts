/** Values of `--log-level` (docs/protocol.md 7.1), from least to most output. The agent writes no lines of level "trace". */
export const LOG_LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Human-readable log of the agent. Each call writes one line. */
export type Log = Record<Exclude<LogLevel, 'off' | 'trace'>, (message: string) => void>

type LogOptions = {
  /** Least severe level that is written. */
  level: LogLevel
  /** Writes a finished line with its line break; to standard error by default. */
  write?: (line: string) => void
  now?: () => Date
}

/** Creates a log whose lines contain time, level and message. */
export function createLog({ level, write = writeToStandardError, now = () => new Date() }: LogOptions): Log {
  const line = (of: keyof Log) =>
    LOG_LEVELS.indexOf(of) > LOG_LEVELS.indexOf(level)
      ? () => {}
      : (message: string) => write(`${now().toISOString()} ${of.padEnd(5)} ${onOneLine(message)}\n`)
  return { error: line('error'), warn: line('warn'), info: line('info'), debug: line('debug') }
}

/** A log that discards everything. */
export const silentLog: Log = { error() {}, warn() {}, info() {}, debug() {} }

/**
 * Replaces control characters with spaces, because text from the hub must not forge log lines or control a terminal. Truncates
 * the message to 4,096 characters.
 */
function onOneLine(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern has to match control characters
  return message.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').slice(0, 4096)
}

function writeToStandardError(line: string): void {
  process.stderr.write(line)
}
