import { TICK_MS } from './wheel.ts'

/** Token bucket whose capacity is half a second of its rate. Time is counted in ticks of the timer wheel (100 ms). */
export class TokenBucket {
  readonly #perTick: number
  readonly #capacity: number
  #tokens: number
  #tick: number

  constructor(perSecond: number, tick: number) {
    this.#perTick = (perSecond * TICK_MS) / 1000
    this.#capacity = Math.max(1, perSecond / 2)
    this.#tokens = this.#capacity
    this.#tick = tick
  }

  /** Takes one token. Returns false when none is left. */
  take(tick: number): boolean {
    this.#tokens = Math.min(this.#capacity, this.#tokens + (tick - this.#tick) * this.#perTick)
    this.#tick = tick
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}
