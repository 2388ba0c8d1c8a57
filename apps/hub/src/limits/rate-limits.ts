import { isIPv6 } from 'node:net'
import { ActionError, type RateLimit } from '@muster/actions'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { type Caller, personOf } from '../caller.ts'
import { LimitReached } from './limit-reached.ts'

type Rate = { calls: number; perSecs: number }

/**
 * Proofs that failed, by address, account, browser or person. Those of a password are taken before it is looked at and given back
 * when it was right, so that those under way are bounded too.
 */
const FAILURES = {
  'sign-in address': { calls: 50, perSecs: 60 },
  'sign-in account': { calls: 20, perSecs: 15 * 60 },
  // Browsers from which the account has signed in before do not share the count that anybody can use up.
  'sign-in known browser': { calls: 10, perSecs: 15 * 60 },
  'current password': { calls: 10, perSecs: 15 * 60 },
  'bad token': { calls: 100, perSecs: 60 },
  // Commands by nobody, of whose refusals the audit log has rows; what a public repository gives to everybody is given back.
  'no credentials': { calls: 100, perSecs: 60 },
  'device refused': { calls: 100, perSecs: 60 },
} satisfies Record<string, Rate>
type Failure = keyof typeof FAILURES

/** Window of the limit `person-creations`, in seconds. */
const CREATIONS_SECS = 10 * 60

/** Counts calls of this node in memory, bounded by their windows: what is beyond a rate is `RateLimited`. */
export class RateLimits {
  readonly #limiters = new Map<string, RateLimiterMemory>()

  /** Takes one call of a kind for a key; throws `RateLimited` with the seconds to wait when there is none left. */
  async take(kind: Failure, key: string): Promise<void> {
    await this.#take(kind, FAILURES[kind], key)
  }

  /** Throws `RateLimited` when none is left, and takes none. */
  async refuseSpent(kind: Failure, key: string): Promise<void> {
    const used = await this.#limiter(kind, FAILURES[kind]).get(countedAs(key))
    if (used && used.consumedPoints >= FAILURES[kind].calls) throw tooMany(used)
  }

  /** Gives a call back that turned out not to count. */
  async giveBack(kind: Failure, key: string): Promise<void> {
    await this.#limiter(kind, FAILURES[kind]).reward(countedAs(key))
  }

  /** Forgets all calls of a kind for a key. */
  async clear(kind: Failure, key: string): Promise<void> {
    await this.#limiter(kind, FAILURES[kind]).delete(countedAs(key))
  }

  /**
   * Takes one call of a kind for a key, where each key may have a rate of its own; resolves to the seconds to wait when there is none
   * left. The kind must not be one of those above.
   */
  async takeOf(kind: string, key: string, { calls, perSecs }: Rate): Promise<number | undefined> {
    const limiter = this.#limiter(kind, { calls: Number.MAX_SAFE_INTEGER, perSecs })
    const used = await limiter.consume(countedAs(key))
    if (used.consumedPoints <= calls) return undefined
    await limiter.reward(countedAs(key))
    return Math.max(1, Math.ceil(used.msBeforeNext / 1000))
  }

  /** Gives a call of `takeOf` back that turned out not to count. */
  async giveBackOf(kind: string, key: string, perSecs: number): Promise<void> {
    await this.#limiter(kind, { calls: Number.MAX_SAFE_INTEGER, perSecs }).reward(countedAs(key))
  }

  /** Takes one call of an action by the limits that its definition names. */
  async takeAction(
    name: string,
    { perAddress, perPerson }: RateLimit,
    caller: Caller,
    address: string | undefined,
  ): Promise<void> {
    const person = personOf(caller)
    if (perAddress && address !== undefined) await this.#take(`${name} address`, perAddress, address)
    if (perPerson && person) await this.#take(`${name} person`, perPerson, person.userId)
  }

  /** Takes one of the things that a person may create in a while; throws `LimitReached` when there is none left. */
  async takeCreation(userId: string, max: number): Promise<void> {
    const rate = { calls: max, perSecs: CREATIONS_SECS }
    await this.#take('creations', rate, userId, ({ msBeforeNext }) => {
      const remedy = 'Try again later.'
      const limit = { limit: 'person-creations', subject: { userId }, max, found: max + 1, remedy } as const
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
      // What is refused does not count, so that there is room again as soon as others are given back.
      await limiter.reward(countedAs(key))
      throw refuse(refusal)
    }
  }

  #limiter(kind: string, { calls, perSecs }: Rate): RateLimiterMemory {
    let limiter = this.#limiters.get(kind)
    if (!limiter) {
      limiter = new RateLimiterMemory({ points: calls, duration: perSecs })
      this.#limiters.set(kind, limiter)
    }
    return limiter
  }
}

/** An IPv6 address counts as its network of 64 bits, since who has one address of it has them all; any other key as it is. */
function countedAs(key: string): string {
  if (!isIPv6(key)) return key
  const [head, tail] = key.split('::').map(part => part.split(':')) as [string[], string[]?]
  const zeros = tail ? Array(8 - head.length - tail.length).fill('0') : []
  const groups = [...head, ...zeros, ...(tail ?? [])].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group || '0', 16).toString(16)).join(':')}::/64`
}

function tooMany({ msBeforeNext }: RateLimiterRes): ActionError {
  return new ActionError('RateLimited', 'Too many requests: try again later.', {
    retryAfterSecs: secsBefore(msBeforeNext),
  })
}

function secsBefore(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
