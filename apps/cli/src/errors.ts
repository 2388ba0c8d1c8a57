import { ActionError } from '@muster/actions/client'
import { clockHint } from '@muster/link/clock-hint'
import { ProxyError } from '@muster/link/site-proxy'

/** Exit codes: success, failure, wrong usage, not signed in or not permitted. */
export const EXIT = { ok: 0, failed: 1, usage: 2, refused: 3 } as const

/** An error that the user can correct. Its message is one line with the value that was found and the next step. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number
  /** Whether the same command would fail again. */
  readonly isFinal: boolean

  constructor(
    message: string,
    {
      exitCode = EXIT.failed,
      cause,
      isFinal = false,
    }: { exitCode?: number; cause?: unknown; isFinal?: boolean } = {},
  ) {
    super(message, { cause })
    this.exitCode = exitCode
    this.isFinal = isFinal
  }
}

/** Exit code of an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode
  return error instanceof ActionError && (error.kind === 'Forbidden' || error.status === 401)
    ? EXIT.refused
    : EXIT.failed
}

/** Describes an error in one human-readable line, with advice if known. */
export function messageOf(error: unknown): string {
  if (!(error instanceof ActionError)) return oneLine(error instanceof Error ? error.message : String(error))
  const { kind, status, retryAfterSecs, requestId } = error
  const message = oneLine(error.message)
  if (status === 401)
    return 'The hub does not know this token. Make one under Settings, Security, and run `muster login`.'
  if (kind === 'Forbidden') return `${message} Check the id, and that your account is in its organization.`
  if (kind === 'RateLimited') return `${message} Try again in ${retryAfterSecs ?? 60} s.`
  if (kind !== 'Internal') return message
  if (requestId) return `${message} The log of the hub has more under request ${requestId}.`
  // The error's message is written for the web console. `cause` has the text of the proxy or object store, which explains more.
  const words = (typeof error.cause === 'string' ? oneLine(error.cause) : message)
    .replace(/<[^>]*>?/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return `Found an answer that is not from the hub (${status}: ${words}); check the proxy in front of it, or the object store.`
}

/** Message of the innermost cause of a failed request. The error of a proxy has all causes in its message. */
export function rootCauseOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return rootCauseOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ProxyError) return error.message
  return error.cause === undefined ? error.message + clockHint(error) : rootCauseOf(error.cause)
}

function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, ' ').trim()
}
