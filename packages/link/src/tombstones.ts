import type { ReceiveWindow } from './receive-window.ts'

const MAX_TOMBSTONES = 256
const LIFETIME_MS = 30_000

/** What became of a frame for a channel that is not open. */
export type LateFrame = 'Known' | 'Unknown' | 'OverCredit'

interface Grave {
  leftFrames: number
  leftBytes: number
}

/** Channels that ended here a short while ago, so that what the peer had still on its way is told from nonsense. */
export class Tombstones {
  readonly #graves = new Map<number, Grave>()
  #lastAddedAt = 0

  /** Remembers a channel with the credit that its peer has left. */
  add(localId: number, window: ReceiveWindow, now: number): void {
    this.#graves.set(localId, { leftFrames: window.leftFrames, leftBytes: window.leftBytes })
    this.#lastAddedAt = now
    if (this.#graves.size > MAX_TOMBSTONES) {
      for (const oldest of this.#graves.keys()) {
        this.#graves.delete(oldest)
        break
      }
    }
  }

  /** True when the last channel ended so long ago that nothing of it can be on its way. */
  isStale(now: number): boolean {
    return now - this.#lastAddedAt > LIFETIME_MS
  }

  /** Judges a frame other than data. */
  control(localId: number): LateFrame {
    return this.#graves.has(localId) ? 'Known' : 'Unknown'
  }

  /** Judges a data frame, which must fit the old credit. */
  data(localId: number, length: number): LateFrame {
    const grave = this.#graves.get(localId)
    if (grave === undefined) return 'Unknown'
    if (grave.leftFrames < 1 || grave.leftBytes < length) return 'OverCredit'
    grave.leftFrames--
    grave.leftBytes -= length
    return 'Known'
  }
}
