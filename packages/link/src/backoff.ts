type BackoffOptions = {
  /** Numbers from 0 to below 1. */
  random?: () => number
  baseMs?: number
  capMs?: number
  /** A connection that lived this long makes the next failure count as the first. */
  resetAfterMs?: number
}

/** Longest `Retry-After` that is believed: beyond it a mistake of a proxy is likelier than a wish of the hub. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000

/**
 * Pauses between attempts: exponential with full jitter, so that a fleet that lost its hub comes back spread
 * over time rather than in waves.
 */
export class Backoff {
  readonly #random: () => number
  readonly #baseMs: number
  readonly #capMs: number
  readonly #resetAfterMs: number
  #failures = 0

  constructor({
    random = Math.random,
    baseMs = 1000,
    capMs = 60_000,
    resetAfterMs = 60_000,
  }: BackoffOptions = {}) {
    this.#random = random
    this.#baseMs = baseMs
    this.#capMs = capMs
    this.#resetAfterMs = resetAfterMs
  }

  /** Notes that a connection ended after this time. */
  endedAfter(connectedMs: number): void {
    if (connectedMs >= this.#resetAfterMs) this.#failures = 0
  }

  /** Milliseconds to wait before the next attempt; never less than what the hub asked for by `Retry-After`. */
  nextDelayMs(retryAfterMs = 0): number {
    const ceiling = Math.min(this.#capMs, this.#baseMs * 2 ** Math.min(this.#failures, 30))
    this.#failures++
    return Math.round(Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) + this.#random() * ceiling)
  }
}
