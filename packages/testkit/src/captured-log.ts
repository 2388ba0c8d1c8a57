import { createLog, type LOG_LEVELS, type Logger } from '@muster/hub/log'

/** One line of the hub's log, parsed. */
export type LogLine = { level: string; msg: string; [field: string]: unknown }

/** A log of the hub whose lines a test reads. */
export type CapturedLog = {
  log: Logger
  lines: LogLine[]
  /** Lines with this message. */
  named(message: string): LogLine[]
}

/** A log for `testHub` that keeps its lines. */
export function capturedLog(level: (typeof LOG_LEVELS)[number] = 'debug'): CapturedLog {
  const lines: LogLine[] = []
  const log = createLog(level, { write: line => void lines.push(JSON.parse(line) as LogLine) })
  return { log, lines, named: message => lines.filter(({ msg }) => msg === message) }
}
