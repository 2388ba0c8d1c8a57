// A test may replace the global functions. All links of a process share one timer, so a replaced timer would stop in later tests.
import { clearInterval, setInterval } from 'node:timers'

/** Source of time for links. Tests pass a ManualClock. */
export interface Clock {
  /** Milliseconds since an arbitrary fixed time. Never decreases. */
  now(): number
  /** Calls `callback` about every `intervalMs` until the returned function is called. */
  every(intervalMs: number, callback: () => void): () => void
}

/** The process's monotonic clock, as milliseconds since the Unix epoch. Its intervals do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  every(intervalMs, callback) {
    const timer = setInterval(callback, intervalMs)
    timer.unref()
    return () => clearInterval(timer)
  },
}
