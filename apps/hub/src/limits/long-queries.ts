import { ActionError } from '@muster/actions'
import { FairLimiter, LimiterRejection } from '@muster/concurrency'

/**
 * Limits of queries that read many rows to return a few, such as filtered lists, and may run until the statement timeout. `max`
 * leaves connections of the pool to other statements, and `maxPerOwner` leaves part of `max` to other callers. `waitMs` equals the
 * longest wait for a connection of the pool, 10 s.
 */
const LONG_QUERIES = { max: 4, maxPerOwner: 2, waitMs: 10_000 }

/** Fair limiter for long queries. */
export class LongQueries {
  readonly #limiter: FairLimiter

  constructor(limits = LONG_QUERIES) {
    this.#limiter = new FairLimiter(limits)
  }

  /** Runs a query of a caller as soon as the limits allow it. Throws `RateLimited` after a wait of `waitMs`. */
  async run<Result>(owner: string, query: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#limiter.run(query, { owner })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      throw new ActionError('RateLimited', 'Too many long queries run at once: try again later.', {
        retryAfterSecs: 5,
      })
    }
  }
}
