import { FRAME } from './frames.ts'

/** Bounds of one link. Whoever crosses one marked "fatal" ends the link (protocol 2.10, R-17). */
export interface LinkLimits {
  /** Channels open or asked for, both directions together; more are rejected. */
  readonly maxChannels: number
  /** Requests of the peer waiting for accept() or reject(); more are rejected. */
  readonly maxPendingRequests: number
  /** Time in which a request of the peer must be decided, after which it is rejected. */
  readonly requestDecisionMs: number
  /** Channels open or asked for by this side; further opens wait. */
  readonly maxOpenedChannels: number
  /** Opens of this side that the peer has not answered; further ones wait. */
  readonly maxOpensInFlight: number
  /** Rate of opens of this side, with a burst of half of it; further ones wait. */
  readonly opensPerSecond: number
  /** Opens that wait; more are refused at once. */
  readonly maxWaitingOpens: number
  /** Requests of the peer in one second; fatal. */
  readonly requestsPerSecond: number
  /** Frames of the peer other than data in one second; fatal. Adjusts that answer data are not counted. */
  readonly controlFramesPerSecond: number
  /** Pings of the peer in one second; fatal. */
  readonly pingsPerSecond: number
  /** Frames for channels that never were or ended long ago in one second; fatal. */
  readonly unknownFramesPerSecond: number
  /** Length of one frame; fatal. */
  readonly maxFrameBytes: number
  /** Time for the peer's Hello; fatal. */
  readonly handshakeMs: number
  /** Time for a Ping to leave the transport's buffer, and for answers that wait to become less; fatal. */
  readonly flushMs: number
  /**
   * Bytes that wait to be sent, the transport's buffer included; fatal. Data counts when its writer goes on
   * after being told to wait, and when it comes on top of more than this, so that a link holds at most this
   * and one write.
   */
  readonly maxQueuedBytes: number
  /** Frames other than data that wait to be sent; fatal. */
  readonly maxQueuedFrames: number
  /** Fill of the transport's buffer from which on frames wait here, so that Pongs stay ahead of data. */
  readonly transportBufferBytes: number
  /** Bytes waiting on one channel from which on its writers are told to wait. */
  readonly channelHighWaterBytes: number
  /**
   * Bytes waiting on the whole link, the transport's buffer included, from which on a channel takes more only when nothing of its own
   * waits, and no further action is begun.
   */
  readonly linkHighWaterBytes: number
  /** Largest receive window of one channel, in frames and in bytes. */
  readonly maxReceiveFrames: number
  readonly maxReceiveBytes: number
}

/** The limits of a current public peer (protocol 2.10), and R-17 for what this side opens. */
export const DEFAULT_LIMITS: LinkLimits = {
  maxChannels: 32,
  maxPendingRequests: 16,
  requestDecisionMs: 60_000,
  maxOpenedChannels: 16,
  maxOpensInFlight: 16,
  opensPerSecond: 32,
  maxWaitingOpens: 256,
  requestsPerSecond: 64,
  controlFramesPerSecond: 8192,
  pingsPerSecond: 8,
  unknownFramesPerSecond: 128,
  maxFrameBytes: FRAME.maxBytes,
  handshakeMs: 10_000,
  flushMs: 30_000,
  maxQueuedBytes: 8 * 1024 * 1024,
  maxQueuedFrames: 1024,
  transportBufferBytes: 128 * 1024,
  channelHighWaterBytes: 64 * 1024,
  linkHighWaterBytes: 256 * 1024,
  maxReceiveFrames: 1024,
  maxReceiveBytes: 1024 * 1024,
}

const merged = new WeakMap<Partial<LinkLimits>, LinkLimits>()

/** The limits with defaults filled in; links given the same object share the result. */
export function resolveLimits(limits: Partial<LinkLimits> | undefined): LinkLimits {
  if (limits === undefined) return DEFAULT_LIMITS
  let result = merged.get(limits)
  if (result === undefined) {
    result = { ...DEFAULT_LIMITS, ...limits }
    merged.set(limits, result)
  }
  return result
}
