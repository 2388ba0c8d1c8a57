import type { Clock } from '../clock.ts'

/** Creates a clock whose sleeps end immediately and are recorded. */
export function instantClock(): Clock & { sleeps: number[] } {
  const sleeps: number[] = []
  let elapsedMs = 0
  return {
    sleeps,
    elapsed: () => elapsedMs,
    async sleep(ms, signal) {
      signal?.throwIfAborted()
      sleeps.push(ms)
      elapsedMs += ms
      await new Promise(resolve => setImmediate(resolve))
      signal?.throwIfAborted()
    },
  }
}
