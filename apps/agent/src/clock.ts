import { setTimeout as sleepFor } from 'node:timers/promises'

/** Source of time for the agent. Tests use a fake clock. */
export interface Clock {
  /** Monotonic time in milliseconds since an arbitrary moment. */
  elapsed(): number
  /** Resolves after `ms` milliseconds; rejects immediately when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Clock based on `performance.now()` and Node's timers. */
export const systemClock: Clock = {
  elapsed: () => performance.now(),
  sleep: (ms, signal) => sleepFor(ms, undefined, signal && { signal }),
}
