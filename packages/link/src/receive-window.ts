import { FRAME } from './frames.ts'
import type { LinkLimits } from './limits.ts'

/** Largest receive window, in frames and in bytes. */
type WindowLimits = Pick<LinkLimits, 'maxReceiveFrames' | 'maxReceiveBytes'>

/**
 * The peer's remaining credit on one channel, and when to give credit back (docs/protocol.md 2.5, R-8, R-11). Credit is charged when a
 * frame arrives and given back when half of the window has been consumed. If credit were given back only when the window is
 * used up, legacy peers would wait forever, because they stop sending below 512 bytes of credit.
 */
export class ReceiveWindow {
  /** The peer's remaining credit. It also applies to data that arrives after the channel has ended. */
  leftFrames: number = FRAME.initialFrameCredit
  leftBytes: number = FRAME.initialByteCredit
  /** Credit granted by the last grant(). */
  grantedFrames = 0
  grantedBytes = 0
  #maxFrames: number = FRAME.initialFrameCredit
  #maxBytes: number = FRAME.initialByteCredit
  #usedFrames = 0
  #usedBytes = 0
  #lastGrantAt = Number.NEGATIVE_INFINITY

  /** True while the peer has credit for at least one byte. */
  get isOpen(): boolean {
    return this.leftFrames > 0 && this.leftBytes > 0
  }

  /** Charges one frame. Returns false when the peer had no credit for the frame, which ends the link. */
  arrived(length: number): boolean {
    if (this.leftFrames < 1 || this.leftBytes < length) return false
    this.leftFrames--
    this.leftBytes -= length
    return true
  }

  /** Records consumed frames and bytes. Returns true when it is time to call grant(). */
  consumed(frames: number, bytes: number): boolean {
    this.#usedFrames += frames
    this.#usedBytes += bytes
    return this.#usedFrames * 2 >= this.#maxFrames || this.#usedBytes * 2 >= this.#maxBytes
  }

  /**
   * Gives all consumed credit back, and doubles a window if half of it was consumed within `horizonMs` of the last grant. Sets
   * grantedFrames and grantedBytes; they are never both 0 after consumed() returned true.
   */
  grant(now: number, horizonMs: number, limits: WindowLimits): void {
    let growFrames = 0
    let growBytes = 0
    if (now - this.#lastGrantAt < horizonMs) {
      if (this.#usedFrames * 2 >= this.#maxFrames) {
        growFrames = Math.max(0, Math.min(this.#maxFrames, limits.maxReceiveFrames - this.#maxFrames))
      }
      if (this.#usedBytes * 2 >= this.#maxBytes) {
        growBytes = Math.max(0, Math.min(this.#maxBytes, limits.maxReceiveBytes - this.#maxBytes))
      }
    }
    this.grantedFrames = this.#usedFrames + growFrames
    this.grantedBytes = this.#usedBytes + growBytes
    this.#maxFrames += growFrames
    this.#maxBytes += growBytes
    this.leftFrames += this.grantedFrames
    this.leftBytes += this.grantedBytes
    this.#usedFrames = 0
    this.#usedBytes = 0
    this.#lastGrantAt = now
  }
}
