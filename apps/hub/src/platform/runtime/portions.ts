import { setImmediate } from 'node:timers/promises'

/**
 * Number of elements of a long list that are converted in one turn of the event loop. For 250 devices with eight columns a turn takes
 * a few milliseconds, for 10,000 at once it would hold up all other requests for more than 100 ms.
 */
const PORTION = 250

/** Maps a list that may be long. All other work of the process goes on after each portion of 250 elements. */
export async function mapInPortions<T, R>(
  items: readonly T[],
  map: (portion: readonly T[]) => readonly R[],
): Promise<R[]> {
  const mapped: R[] = []
  for (let at = 0; at < items.length; at += PORTION) {
    if (at > 0) await setImmediate()
    mapped.push(...map(items.slice(at, at + PORTION)))
  }
  return mapped
}

/** Whether a list is longer than one portion. */
export function isLong(items: readonly unknown[]): boolean {
  return items.length > PORTION
}
