import { clockHint } from '@muster/link/clock-hint'

/** Describes an error in one human-readable line. Socket errors with an empty message are described by their code. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  return (error.message || codeOf(error) || error.name) + clockHint(error)
}

/** Returns the code of a system error, for example `ENOENT`, or undefined if there is none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
