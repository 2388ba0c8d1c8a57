import { setTimeout as sleepFor } from 'node:timers/promises'

/** Time as the agent sees it; tests pass one whose hands they turn. */
export interface Clock {
  /** Milliseconds since any fixed moment, never going back. */
  elapsed(): number
  /** Resolves after `ms` milliseconds; rejects at once when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The machine's own clock. */
export const systemClock: Clock = {
  elapsed: () => performance.now(),
  sleep: (ms, signal) => sleepFor(ms, undefined, signal && { signal }),
}
