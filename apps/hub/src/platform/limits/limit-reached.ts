import { ActionError, type LimitSubject } from '@muster/actions'
import { type LimitName, limitOf } from './limits.ts'

type Reached = {
  limit: LimitName
  subject: LimitSubject
  /** Value of the limit in force. */
  max: number
  /** Value that the call would have reached. */
  found: number
  /** Sentence that advises the caller. */
  remedy: string
  /** Seconds until the next call can succeed, for a rate. Undefined for a total, where waiting does not help. */
  retryAfterSecs?: number
}

/**
 * Error for a call that would exceed a limit: `RateLimited` (429) for a rate, `Invalid` (409) for a total. The message names the
 * limit, the value found, the value allowed and the remedy. The pipeline reports it to operators.
 */
export class LimitReached extends ActionError {
  readonly limit: LimitName
  readonly subject: LimitSubject

  constructor({ limit, subject, max, found, remedy, retryAfterSecs }: Reached) {
    const message = `Limit ${limit}: found ${found}, expected at most ${max} ${limitOf(limit).unit}. ${remedy}`
    super(
      retryAfterSecs === undefined ? 'Invalid' : 'RateLimited',
      message,
      retryAfterSecs === undefined ? { status: 409 } : { retryAfterSecs },
    )
    this.limit = limit
    this.subject = subject
  }
}
