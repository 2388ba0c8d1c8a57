import { ActionError, type RateLimit } from '@muster/actions'
import type pg from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import { type Caller, personOf } from '../pipeline/caller.ts'
import { countedAs } from './counted-address.ts'
import { LimitReached } from './limit-reached.ts'

type Rate = { calls: number; perSecs: number }
/** Number of calls in the window with the one that exceeds a rate, and time until the next call can succeed. */
type Exceeded = { found: number; retryAfterSecs: number }

/**
 * Rates of failed authentications, by client IP address, account, browser or person. A password attempt is counted before its
 * verification and subtracted again if the password is right. So concurrent attempts are bounded too.
 */
const FAILURES = {
  'sign-in address': { calls: 50, perSecs: 60 },
  'sign-in account': { calls: 20, perSecs: 15 * 60 },
  // Browsers that the account has used before have a separate count, because other people can use up the count of the account.
  'sign-in known browser': { calls: 10, perSecs: 15 * 60 },
  'current password': { calls: 10, perSecs: 15 * 60 },
  'bad token': { calls: 100, perSecs: 60 },
  // Counts commands without credentials, because each refused command writes an audit row. A permitted call, such as a read of a
  // public repository, is subtracted again.
  'no credentials': { calls: 100, perSecs: 60 },
  'device refused': { calls: 100, perSecs: 60 },
} satisfies Record<string, Rate>
type Failure = keyof typeof FAILURES

/**
 * Kinds of calls that each node counts in memory and not in the database. During a flood, the hub must not run a statement for each of
 * these calls.
 */
const COUNTED_BY_NODE = new Set<string>(['no credentials', 'device refused'] satisfies Failure[])
/**
 * Time for which a node refuses a key after the key has exceeded a rate that all nodes share, in seconds. These refusals cost no query, so
 * a flood costs one statement per key in this time. The time is short, because another node may subtract a call or clear the count.
 */
const REFUSED_SECS = 5

/** Window of the limit `person-creations`, in seconds. */
const CREATIONS_SECS = 10 * 60

/**
 * Counts calls. A count expires with its window. Calls beyond a rate are `RateLimited`. While another node is alive, the counts are in the
 * database and hold for all nodes together; otherwise, and while the database does not answer, they are in memory.
 */
export class RateLimits {
  readonly #ofNode = new Map<string, RateLimiterMemory>()
  readonly #shared = new Map<string, RateLimiterPostgres>()
  readonly #pool: pg.Pool
  readonly #isShared: () => boolean
  readonly #onRefused: (kind: string) => void

  /** `onRefused` is called with the kind of each refused call. */
  constructor({
    pool,
    isShared,
    onRefused = () => {},
  }: {
    pool: pg.Pool
    isShared: () => boolean
    onRefused?: (kind: string) => void
  }) {
    this.#pool = pool
    this.#isShared = isShared
    this.#onRefused = onRefused
  }

  /** Counts a call of a kind for a key. Throws `RateLimited` with the seconds to wait when the rate is exceeded. */
  async take(kind: Failure, key: string): Promise<void> {
    await this.#take(kind, FAILURES[kind], key)
  }

  /** Throws `RateLimited` when the rate is used up. Does not count the call. */
  async requireUnspent(kind: Failure, key: string): Promise<void> {
    const used = await this.#limiter(kind, FAILURES[kind]).get(countedAs(key))
    if (!used || used.consumedPoints < FAILURES[kind].calls) return
    this.#onRefused(kind)
    throw tooMany(used)
  }

  /** Subtracts a counted call, such as a sign-in that succeeded. */
  async giveBack(kind: Failure, key: string): Promise<void> {
    await this.#limiter(kind, FAILURES[kind]).reward(countedAs(key))
  }

  /** Resets the count of a kind for a key. */
  async clear(kind: Failure, key: string): Promise<void> {
    await this.#limiter(kind, FAILURES[kind]).delete(countedAs(key))
  }

  /**
   * Counts a call like `take`, with a rate that may differ per key. If the rate is exceeded, resolves to the number of calls with this one
   * and to the seconds to wait. `kind` must not be a key of `FAILURES`, because the counter in memory of a kind has only one rate.
   */
  async takeWithRate(kind: string, key: string, { calls, perSecs }: Rate): Promise<Exceeded | undefined> {
    const limiter = this.#limiterOfNode(kind, { calls: Number.MAX_SAFE_INTEGER, perSecs })
    // The rate may differ per call, so more calls may be counted than this one allows.
    const counted = await limiter.get(countedAs(key))
    if (counted && counted.consumedPoints >= calls) return this.#exceeded(kind, counted)
    const used = await limiter.consume(countedAs(key))
    if (used.consumedPoints <= calls) return undefined
    // Concurrent calls have used up the rate meanwhile.
    await limiter.reward(countedAs(key))
    return this.#exceeded(kind, { consumedPoints: calls, msBeforeNext: used.msBeforeNext })
  }

  #exceeded(
    kind: string,
    { consumedPoints, msBeforeNext }: Pick<RateLimiterRes, 'consumedPoints' | 'msBeforeNext'>,
  ): Exceeded {
    this.#onRefused(kind)
    return { found: consumedPoints + 1, retryAfterSecs: secsBefore(msBeforeNext) }
  }

  /** Subtracts a call counted by `takeWithRate`. */
  async giveBackWithRate(kind: string, key: string, perSecs: number): Promise<void> {
    await this.#limiterOfNode(kind, { calls: Number.MAX_SAFE_INTEGER, perSecs }).reward(countedAs(key))
  }

  /** Counts a call of an action for the rates in its definition, in the count of `countedAs` if it is set. Throws `RateLimited`. */
  async takeAction(
    name: string,
    { perAddress, perPerson, countedAs = name }: RateLimit,
    caller: Caller,
    address: string | undefined,
  ): Promise<void> {
    const person = personOf(caller)
    if (perAddress && address !== undefined) await this.#take(`${countedAs} address`, perAddress, address)
    if (perPerson && person) await this.#take(`${countedAs} person`, perPerson, person.userId)
  }

  /** Counts a creation by a person. Throws `LimitReached` beyond `max` creations in `CREATIONS_SECS`. */
  async takeCreation(userId: string, max: number): Promise<void> {
    const rate = { calls: max, perSecs: CREATIONS_SECS }
    await this.#take('creations', rate, userId, ({ msBeforeNext, consumedPoints }) => {
      const remedy = 'Try again later.'
      // A refusal from the memory of this node has no count.
      const found = Math.max(max + 1, consumedPoints)
      const limit = { limit: 'person-creations', subject: { userId }, max, found, remedy } as const
      return new LimitReached({ ...limit, retryAfterSecs: secsBefore(msBeforeNext) })
    })
  }

  async #take(
    kind: string,
    rate: Rate,
    key: string,
    refuse: (used: RateLimiterRes) => ActionError = tooMany,
  ): Promise<void> {
    const limiter = this.#limiter(kind, rate)
    try {
      await limiter.consume(countedAs(key))
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      // A refused call uses up no point of the limit. If `consume` counted it, its point is returned here.
      if (refusal.consumedPoints > 0) await limiter.reward(countedAs(key))
      this.#onRefused(kind)
      throw refuse(refusal)
    }
  }

  #limiter(kind: string, rate: Rate): RateLimiterMemory | RateLimiterPostgres {
    const ofNode = this.#limiterOfNode(kind, rate)
    if (COUNTED_BY_NODE.has(kind) || !this.#isShared()) return ofNode
    let limiter = this.#shared.get(kind)
    if (!limiter) {
      limiter = new RateLimiterPostgres({
        storeClient: this.#pool,
        storeType: 'pool',
        tableName: 'rate_limit_count',
        tableCreated: true,
        // The job `instance_CleanupExpired` removes expired counts.
        clearExpiredByTimeout: false,
        keyPrefix: kind,
        points: rate.calls,
        duration: rate.perSecs,
        inMemoryBlockOnConsumed: rate.calls + 1,
        inMemoryBlockDuration: REFUSED_SECS,
        insuranceLimiter: ofNode,
      })
      this.#shared.set(kind, limiter)
    }
    return limiter
  }

  #limiterOfNode(kind: string, { calls, perSecs }: Rate): RateLimiterMemory {
    let limiter = this.#ofNode.get(kind)
    if (!limiter) {
      limiter = new RateLimiterMemory({ points: calls, duration: perSecs })
      this.#ofNode.set(kind, limiter)
    }
    return limiter
  }
}

function tooMany({ msBeforeNext }: RateLimiterRes): ActionError {
  return new ActionError('RateLimited', 'Too many requests: try again later.', {
    retryAfterSecs: secsBefore(msBeforeNext),
  })
}

function secsBefore(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
