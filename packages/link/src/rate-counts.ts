import { TICK_MS } from './wheel.ts'

const WINDOW_TICKS = 1000 / TICK_MS

/** Counts of the peer's frames in the current second, in fixed windows (docs/protocol.md 2.10). */
export class RateCounts {
  requests = 0
  control = 0
  pings = 0
  unknown = 0
  #startedTick = 0

  /** Starts a new window if the second is over. Call it before counting. */
  roll(tick: number): void {
    if (tick - this.#startedTick < WINDOW_TICKS) return
    this.#startedTick = tick
    this.requests = 0
    this.control = 0
    this.pings = 0
    this.unknown = 0
  }
}
