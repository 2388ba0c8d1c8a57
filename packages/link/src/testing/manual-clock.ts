import type { Clock } from '../clock.ts'

interface Interval {
  readonly everyMs: number
  readonly callback: () => void
  nextAt: number
}

/** A clock that tests advance by hand. */
export class ManualClock implements Clock {
  #now: number
  readonly #intervals = new Set<Interval>()

  constructor(startMs = 1_000_000) {
    this.#now = startMs
  }

  now(): number {
    return this.#now
  }

  every(intervalMs: number, callback: () => void): () => void {
    const interval = { everyMs: intervalMs, callback, nextAt: this.#now + intervalMs }
    this.#intervals.add(interval)
    return () => this.#intervals.delete(interval)
  }

  /** Number of running intervals. */
  get intervalCount(): number {
    return this.#intervals.size
  }

  /** Advances time and calls every interval at each of its due times, as in an idle process. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      let next: Interval | undefined
      for (const interval of this.#intervals) {
        if (interval.nextAt <= end && (next === undefined || interval.nextAt < next.nextAt)) next = interval
      }
      if (next === undefined) break
      this.#now = next.nextAt
      next.nextAt += next.everyMs
      next.callback()
    }
    this.#now = end
  }

  /** Advances time without calling intervals, as in a blocked process. */
  stall(ms: number): void {
    this.#now += ms
  }

  /** Advances time as in a process that was blocked: every interval is called once, late. */
  jump(ms: number): void {
    this.#now += ms
    for (const interval of this.#intervals) {
      if (interval.nextAt > this.#now) continue
      interval.nextAt = this.#now + interval.everyMs
      interval.callback()
    }
  }
}
