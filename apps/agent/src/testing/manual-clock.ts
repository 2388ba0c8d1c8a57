import type { Clock } from '../clock.ts'

/** A clock on which every sleep takes no time and is remembered; `limit` sleeps later it calls back. */
export function instantClock(
  limit = Number.POSITIVE_INFINITY,
  onLimit = () => {},
): Clock & { sleeps: number[] } {
  const sleeps: number[] = []
  let elapsedMs = 0
  return {
    sleeps,
    now: () => elapsedMs,
    elapsed: () => elapsedMs,
    async sleep(ms, signal) {
      signal?.throwIfAborted()
      sleeps.push(ms)
      elapsedMs += ms
      if (sleeps.length === limit) onLimit()
      await new Promise(resolve => setImmediate(resolve))
      signal?.throwIfAborted()
    },
  }
}
