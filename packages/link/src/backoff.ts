type BackoffOptions = {
  /** Returns a number from 0 to below 1; `Math.random` by default. */
  random?: () => number
  capMs?: number
}

const BASE_MS = 1000
/** Duration in milliseconds of a connection after which the next failure counts as the first. */
const RESET_AFTER_MS = 60_000

/** Upper bound of an accepted `Retry-After`. A longer delay is more likely a misconfigured proxy than the hub's decision. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000

/** Sum of the delays, in milliseconds, for which the hub's bound holds after a connection: a crashed hub is back sooner. */
const BOUND_HOLDS_MS = 60_000

/**
 * Delays between connection attempts: exponential with full jitter, so that a fleet that lost its hub does not reconnect in
 * waves. For the first minute after a connection, the delays have the upper bound that the hub named in it.
 */
export class Backoff {
  readonly #random: () => number
  readonly #capMs: number
  #failures = 0
  #boundMs = Number.POSITIVE_INFINITY
  #boundHoldsMs = 0

  constructor({ random = Math.random, capMs = 60_000 }: BackoffOptions = {}) {
    this.#random = random
    this.#capMs = capMs
  }

  /** Records that a connection ended after `connectedMs`. After at least `RESET_AFTER_MS` the delays start again at the shortest. */
  endedAfter(connectedMs: number): void {
    if (connectedMs >= RESET_AFTER_MS) this.#failures = 0
  }

  /** Records that the hub asked to connect again soon. The delays start again at the shortest. */
  askedToReturn(): void {
    this.#failures = 0
  }

  /** Records that a hub accepted a connection and named an upper bound for the delays after its end, in milliseconds. */
  returnWithin(boundMs: number): void {
    this.#boundMs = boundMs
    this.#boundHoldsMs = BOUND_HOLDS_MS
  }

  /** Records that the hub refused the connection. The bound, which is for a hub that crashed, no longer holds. */
  refused(): void {
    this.#boundHoldsMs = 0
  }

  /** Milliseconds until the next attempt: a random delay in addition to the hub's `Retry-After`, which counts up to 1 h. */
  nextDelayMs(retryAfterMs = 0): number {
    const boundMs = this.#boundHoldsMs > 0 ? this.#boundMs : this.#capMs
    const ceiling = Math.min(this.#capMs, boundMs, BASE_MS * 2 ** Math.min(this.#failures, 30))
    this.#failures++
    const delayMs = Math.round(Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) + this.#random() * ceiling)
    this.#boundHoldsMs -= delayMs
    return delayMs
  }
}
