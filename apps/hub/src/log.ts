import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Levels that `MUSTER_LOG_LEVEL` accepts. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** Headers and fields that carry secrets; their values never reach a log line. */
const REDACTED = [
  'req.headers.authorization',
  'req.headers.cookie',
  'req.headers["x-deployment-token"]',
  'req.headers["x-user-token"]',
  'req.headers["x-device-fingerprint"]',
  'req.headers["x-client-cert"]',
  'req.headers["x-muster-proxy-secret"]',
  '*.password',
  '*.token',
]

/** The root log: JSON lines on standard error, so that standard output stays for people; tests read them elsewhere. */
export function createLog(
  level: (typeof LOG_LEVELS)[number],
  destination: DestinationStream = pino.destination({ dest: 2, sync: true }),
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
