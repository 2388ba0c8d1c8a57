import { createLog, type LOG_LEVELS, type Logger } from '@muster/hub/log'

/** A parsed line of the hub's log. */
export type LogLine = { level: string; msg: string; [field: string]: unknown }

/** A log of the hub whose lines are available to a test. */
export type CapturedLog = {
  log: Logger
  lines: LogLine[]
  /** Lines with this message. */
  named(message: string): LogLine[]
}

/** Makes a log for `testHub` that stores its lines. */
export function capturedLog(level: (typeof LOG_LEVELS)[number] = 'debug'): CapturedLog {
  const lines: LogLine[] = []
  const log = createLog(level, { write: line => void lines.push(JSON.parse(line) as LogLine) })
  return { log, lines, named: message => lines.filter(({ msg }) => msg === message) }
}
