import { FRAME } from './frames.ts'

/** The credit that the peer has granted on one channel, in frames and in bytes (docs/protocol.md 2.5, R-9). */
export class SendWindow {
  frames: number
  bytes: number

  constructor(frames: number, bytes: number) {
    this.frames = frames
    this.bytes = bytes
  }

  /** Longest payload that may be sent now as one frame. */
  get sendable(): number {
    return this.frames === 0 ? 0 : Math.min(this.bytes, FRAME.chunkBytes)
  }

  /** Charges the credit of one frame with `length` bytes of payload. */
  spend(length: number): void {
    this.frames--
    this.bytes -= length
  }

  /** Adds granted credit. Returns false when a counter would exceed 2^32-1, which ends the link. */
  add(frames: number, bytes: number): boolean {
    this.frames += frames
    this.bytes += bytes
    return this.frames <= FRAME.maxCredit && this.bytes <= FRAME.maxCredit
  }
}
