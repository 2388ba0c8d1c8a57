import { waitUpTo } from './in-flight.ts'

/**
 * Starts work at an interval; runs never overlap. Disposal stops the timer and waits for a run in flight, but no longer than
 * the interval.
 */
export function every(
  intervalMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): AsyncDisposable {
  let working: Promise<void> | undefined
  const timer = setInterval(() => {
    working ??= work()
      .catch(onError)
      .finally(() => {
        working = undefined
      })
  }, intervalMs)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      if (working) await waitUpTo(intervalMs, working)
    },
  }
}
