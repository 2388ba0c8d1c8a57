import { type DestinationStream, type Logger, pino } from 'pino'
import { output } from './output.ts'

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
  destination: DestinationStream = output(2),
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
