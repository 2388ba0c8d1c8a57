import { ActionError } from '@muster/actions'
import { FairLimiter, LimiterRejection } from '@muster/concurrency'

/**
 * Limits of counts, suggestions, searches and timelines, each of which may take 2 s. A person may run one at a time, so typing occupies at
 * most one connection of the pool. `waitMs` is the duration of two queries and a margin.
 */
const BRIEF_QUERIES = { max: 3, maxPerOwner: 1, maxWaiting: 200, waitMs: 5_000 }

/** Fair limiter for queries whose contract has the cost `brief`: they may read many rows, but only for 2 s. */
export class BriefQueries {
  readonly #limiter: FairLimiter

  constructor(limits = BRIEF_QUERIES) {
    this.#limiter = new FairLimiter(limits)
  }

  /** Runs a query of a caller when the limits allow it, unless `signal` aborts before. Throws `RateLimited` after `waitMs`. */
  async run<Result>(owner: string, signal: AbortSignal, query: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#limiter.run(query, { owner, signal })
    } catch (error) {
      if (!(error instanceof LimiterRejection)) throw error
      throw new ActionError(
        'RateLimited',
        'Too many counts, searches and timelines run at once: try again later.',
        {
          retryAfterSecs: 5,
        },
      )
    }
  }
}
