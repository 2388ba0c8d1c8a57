import { ActionError } from '@muster/actions'
import { FairLimiter, LimiterRejection } from '@muster/concurrency'

/**
 * Limits of queries that read many rows to return a few, such as lists with a filter, which may take as long as a statement may. They
 * get fewer connections than a hub has, and one caller gets fewer than all of those. They wait as long as others wait for a connection.
 */
const LONG_QUERIES = { max: 4, maxPerOwner: 2, waitMs: 10_000 }

/** Runs long queries of callers, a few at a time. Throws `RateLimited` when the wait is too long. */
export class LongQueries {
  readonly #limiter: FairLimiter

  constructor(limits = LONG_QUERIES) {
    this.#limiter = new FairLimiter(limits)
  }

  async run<Result>(owner: string, query: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#limiter.run(query, { owner })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      throw new ActionError('RateLimited', 'Too many lists are looked through at once.', {
        retryAfterSecs: 5,
      })
    }
  }
}
