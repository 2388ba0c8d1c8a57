import { waitUpTo } from './in-flight.ts'

/**
 * Does work over and over, one after the other however long it takes; disposal ends that and waits for what is under way, but no
 * longer than the interval.
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
