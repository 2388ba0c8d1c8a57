/** Least severe levels that can be asked for (protocol 7.1), from nothing to everything; there are no lines of "trace". */
export const LOG_LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Where the agent tells people what it does: one line a call. */
export type Log = Record<Exclude<LogLevel, 'off' | 'trace'>, (message: string) => void>

type LogOptions = {
  /** Least severe level that is written. */
  level: LogLevel
  /** Takes a finished line with its line break; standard error by default. */
  write?: (line: string) => void
  now?: () => Date
}

/** A log that writes lines of time, level and message. */
export function createLog({ level, write = writeToStandardError, now = () => new Date() }: LogOptions): Log {
  const line = (of: keyof Log) =>
    LOG_LEVELS.indexOf(of) > LOG_LEVELS.indexOf(level)
      ? () => {}
      : (message: string) => write(`${now().toISOString()} ${of.padEnd(5)} ${onOneLine(message)}\n`)
  return { error: line('error'), warn: line('warn'), info: line('info'), debug: line('debug') }
}

/** A log that keeps nothing. */
export const silentLog: Log = { error() {}, warn() {}, info() {}, debug() {} }

/** Text of others, for instance of the hub, must not be able to forge log lines or drive a terminal. */
function onOneLine(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return message.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').slice(0, 4096)
}

function writeToStandardError(line: string): void {
  process.stderr.write(line)
}
