import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Levels that `MUSTER_LOG_LEVEL` accepts. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** Headers that carry secrets; their values never reach a log line. */
const SECRET_HEADERS = [
  'authorization',
  'cookie',
  'x-deployment-token',
  'x-user-token',
  'x-device-fingerprint',
  'x-client-cert',
  'x-muster-proxy-secret',
]

/** Fields of inputs and settings that carry them. */
const SECRET_FIELDS = [
  'password',
  'currentPassword',
  'newPassword',
  'token',
  'activationToken',
  'resetToken',
  'jwt',
  'secret',
]

const REDACTED = [
  ...SECRET_HEADERS.map(name => `req.headers["${name}"]`),
  ...SECRET_FIELDS.flatMap(name => [name, `*.${name}`]),
]

/** The root log: JSON lines on standard error, so that standard output stays for people; tests read them elsewhere. */
export function createLog(
  level: (typeof LOG_LEVELS)[number],
  destination: DestinationStream = { write: line => writeSafely(2, line) },
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      // Database errors carry their whole client; a log line needs what happened and where.
      serializers: { err: describeError },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    destination,
  )
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
const SLOW_READER_MS = 10
/** How long one text waits for whoever reads, in milliseconds; those behind it are lost until there is room again. */
const STUCK_READER_MS = 1_000

/** Of those written to: the way there, whether its reader was stuck at the last text, and whether only a part of that is there. */
const ways: Partial<Record<1 | 2, { fd: number; isStuck: boolean; isCut: boolean }>> = {}

/**
 * Writes a text to standard output or standard error, whole before anything else happens. What these cannot take, because they are a
 * file on a full disk or a pipe that nobody reads, is lost: it must not be the end of the hub, nor hold it up.
 */
export function writeSafely(fd: 1 | 2, text: string): void {
  ways[fd] ??= { fd: withoutWaiting(fd), isStuck: false, isCut: false }
  const way = ways[fd]
  const deadline = performance.now() + (way.isStuck ? 0 : STUCK_READER_MS)
  let rest = Buffer.from(way.isCut ? `\n${text}` : text)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(way.fd, rest))
      way.isStuck = false
      way.isCut = rest.length > 0
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      way.isStuck = performance.now() >= deadline
      if (way.isStuck) return
      Atomics.wait(sleeper, 0, 0, SLOW_READER_MS)
    }
  }
}

/**
 * The same pipe opened once more, so that a write that does not fit returns at once here, whatever others that have it do with theirs.
 * Anything else, and a pipe of another account, is written to as it is.
 */
function withoutWaiting(fd: number): number {
  try {
    if (fstatSync(fd).isFIFO())
      return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    // Its reader is waited for.
  }
  return fd
}

function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const code = (error as { code?: unknown }).code
  return {
    name,
    message,
    ...(code !== undefined && { code }),
    stack,
    ...(cause !== undefined && { cause: describeError(cause) }),
  }
}
