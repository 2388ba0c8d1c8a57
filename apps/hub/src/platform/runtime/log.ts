import { type DestinationStream, type Logger, pino } from 'pino'
import { output } from './output.ts'

/** Logger of the hub. */
export type { Logger } from 'pino'

/** Levels that `MUSTER_LOG_LEVEL` accepts. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** Request headers with secrets. Their values are redacted in log lines. */
const SECRET_HEADERS = [
  'authorization',
  'cookie',
  'x-deployment-token',
  'x-user-token',
  'x-device-fingerprint',
  'x-client-cert',
  'x-muster-proxy-secret',
]

/** Fields of inputs and settings with secrets. */
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

/**
 * Creates the root logger. It writes JSON lines to standard error, because standard output is for texts that people read, such as
 * the startup banner. Tests pass another `destination`.
 */
export function createLog(
  level: (typeof LOG_LEVELS)[number],
  destination: DestinationStream = output(2),
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      // Database errors refer to their whole client object, so only name, message, code, stack and cause are logged.
      serializers: { err: describeError },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    destination,
  )
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
