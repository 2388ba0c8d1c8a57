import { isIPv6 } from 'node:net'
import { ActionError, type RateLimit } from '@muster/actions'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { type Caller, personOf } from './caller.ts'

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

  async #take(kind: string, rate: Rate, key: string): Promise<void> {
    const limiter = this.#limiter(kind, rate)
    try {
      await limiter.consume(countedAs(key))
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      // What is refused does not count, so that there is room again as soon as others are given back.
      await limiter.reward(countedAs(key))
      throw tooMany(refusal)
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
    retryAfterSecs: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  })
}
