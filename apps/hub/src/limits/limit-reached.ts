import { ActionError } from '@muster/actions'
import { LIMITS, type LimitName, type LimitSubject } from './limits.ts'

type Reached = {
  limit: LimitName
  subject: LimitSubject
  /** The value in force. */
  max: number
  /** The value that the call would have led to. */
  found: number
  /** What the caller can do, as a sentence. */
  remedy: string
  /** For a rate: when the next call can succeed. A limit without it is a total, where waiting does not help. */
  retryAfterSecs?: number
}

/**
 * A limit that a call would exceed. The message names the limit, the value found, the value allowed and what to do. `RateLimited`
 * (429) for a rate, `Invalid` (409) for a total. The pipeline reports it to operators.
 */
export class LimitReached extends ActionError {
  readonly limit: LimitName
  readonly subject: LimitSubject

  constructor({ limit, subject, max, found, remedy, retryAfterSecs }: Reached) {
    const message = `Limit ${limit}: found ${found}, expected at most ${max} ${LIMITS[limit].unit}. ${remedy}`
    super(
      retryAfterSecs === undefined ? 'Invalid' : 'RateLimited',
      message,
      retryAfterSecs === undefined ? { status: 409 } : { retryAfterSecs },
    )
    this.limit = limit
    this.subject = subject
  }
}
