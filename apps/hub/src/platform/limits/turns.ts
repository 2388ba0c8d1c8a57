import { FairLimiter } from '@muster/concurrency'

/**
 * Elements of a list that are converted in one turn of the event loop. For 50 devices with eight columns a turn takes a millisecond or two,
 * for 10,000 at once it would hold up all other requests for more than 100 ms.
 */
const PORTION = 50

/** Whether a list is longer than one portion. */
export function isLong(items: readonly unknown[]): boolean {
  return items.length > PORTION
}

/**
 * Shares the time of this process among the callers with long lists: in a turn of the event loop one portion of one list is converted, in
 * fair turns of the callers. So many lists of one caller delay other requests no longer than one list does.
 */
export class Turns {
  readonly #portions: FairLimiter

  /** `waitMs` is the longest wait for a turn. */
  constructor(waitMs: number) {
    this.#portions = new FairLimiter({ max: 1, waitMs })
  }

  /** Maps a list that may be long. Rejects with `LimiterRejection` if a portion waits too long. */
  async map<T, R>(
    owner: string,
    items: readonly T[],
    map: (portion: readonly T[]) => readonly R[],
  ): Promise<R[]> {
    if (!isLong(items)) return [...map(items)]
    const mapped: R[] = []
    for (let at = 0; at < items.length; at += PORTION) {
      const { release } = await this.#portions.enter({ owner })
      setImmediate(release)
      mapped.push(...map(items.slice(at, at + PORTION)))
    }
    return mapped
  }
}
