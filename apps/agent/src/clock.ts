import { setTimeout as sleepFor } from 'node:timers/promises'

/** Source of time for the agent. Tests use a fake one. */
export interface Clock {
  /** Milliseconds since any fixed moment, never going back. */
  elapsed(): number
  /** Resolves after `ms` milliseconds; rejects at once when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The clock of this process. */
export const systemClock: Clock = {
  elapsed: () => performance.now(),
  sleep: (ms, signal) => sleepFor(ms, undefined, signal && { signal }),
}
