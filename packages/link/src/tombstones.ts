import type { ReceiveWindow } from './receive-window.ts'

const MAX_TOMBSTONES = 256
const LIFETIME_MS = 30_000

/**
 * Verdict on a frame for a channel that is not open. `Known`: the channel ended recently, so the frame is ignored. `OverCredit`: the
 * frame ends the link. `Unknown`: the rate of such frames is limited.
 */
export type LateFrame = 'Known' | 'Unknown' | 'OverCredit'

interface Tombstone {
  leftFrames: number
  leftBytes: number
}

/** Recently ended channels. Frames that the peer sent before it knew of a channel's end must not count as violations. */
export class Tombstones {
  readonly #tombstones = new Map<number, Tombstone>()
  #lastAddedAt = 0

  /** Remembers an ended channel with the peer's remaining credit. */
  add(localId: number, window: ReceiveWindow, now: number): void {
    this.#tombstones.set(localId, { leftFrames: window.leftFrames, leftBytes: window.leftBytes })
    this.#lastAddedAt = now
    if (this.#tombstones.size > MAX_TOMBSTONES) {
      for (const oldest of this.#tombstones.keys()) {
        this.#tombstones.delete(oldest)
        break
      }
    }
  }

  /** True when the last channel ended so long ago that no frame for it can be in flight. */
  isStale(now: number): boolean {
    return now - this.#lastAddedAt > LIFETIME_MS
  }

  /** Checks a frame without data for a channel that is not open: `Known` if the channel ended recently. */
  control(localId: number): LateFrame {
    return this.#tombstones.has(localId) ? 'Known' : 'Unknown'
  }

  /** Checks a data frame for a channel that is not open. The frame must fit into the credit that the peer had left at the channel's end. */
  data(localId: number, length: number): LateFrame {
    const tombstone = this.#tombstones.get(localId)
    if (tombstone === undefined) return 'Unknown'
    if (tombstone.leftFrames < 1 || tombstone.leftBytes < length) return 'OverCredit'
    tombstone.leftFrames--
    tombstone.leftBytes -= length
    return 'Known'
  }
}
