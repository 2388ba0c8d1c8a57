import { FRAME } from './frames.ts'

/** Bounds of one link. A peer that crosses a bound marked "fatal" ends the link (protocol 2.10, R-17). */
export interface LinkLimits {
  /** Channels open or requested, both directions together; further requests are rejected. */
  readonly maxChannels: number
  /** Requests of the peer that wait for accept() or reject(); further ones are rejected. */
  readonly maxPendingRequests: number
  /** Milliseconds to decide a request of the peer. Afterwards it is rejected. */
  readonly requestDecisionMs: number
  /** Channels open or requested by this side; further opens wait. */
  readonly maxOpenedChannels: number
  /** Opens of this side that the peer has not answered; further ones wait. */
  readonly maxOpensInFlight: number
  /** Rate of opens of this side, with a burst of half of it; further ones wait. */
  readonly opensPerSecond: number
  /** Waiting opens; further ones are rejected at once. */
  readonly maxWaitingOpens: number
  /** Requests of the peer per second; fatal. */
  readonly requestsPerSecond: number
  /** Frames of the peer other than data per second; fatal. Adjusts that answer data are not counted. */
  readonly controlFramesPerSecond: number
  /** Pings of the peer per second; fatal. */
  readonly pingsPerSecond: number
  /** Frames per second for channels that never existed or ended long ago; fatal. */
  readonly unknownFramesPerSecond: number
  /** Length of one frame; fatal. */
  readonly maxFrameBytes: number
  /** Milliseconds for the peer's Hello; fatal. */
  readonly handshakeMs: number
  /** Milliseconds until a Ping has left the transport's buffer, and until any queued answer was sent; fatal. */
  readonly flushMs: number
  /**
   * Bytes queued to be sent, including the transport's buffer; fatal. Checked when a writer ignores tryWrite()
   * returning false, and when it writes while more than this is queued. A link therefore holds at most this plus one
   * write.
   */
  readonly maxQueuedBytes: number
  /** Frames other than data queued to be sent; fatal. */
  readonly maxQueuedFrames: number
  /** Above this fill of the transport's buffer, frames are queued here, so that Pongs stay ahead of data. */
  readonly transportBufferBytes: number
  /** Above this many queued bytes of one channel, write() waits and tryWrite() returns false. */
  readonly channelHighWaterBytes: number
  /**
   * Above this many queued bytes of the whole link, including the transport's buffer, a channel accepts more only if it
   * has no queued bytes, and no further action is started.
   */
  readonly linkHighWaterBytes: number
  /** Largest receive window of one channel, in frames and in bytes. */
  readonly maxReceiveFrames: number
  readonly maxReceiveBytes: number
}

/** The limits of a current public peer (protocol 2.10), and those of R-17 for channels that this side opens. */
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

/** Fills in the default limits. Links that are given the same object share the result. */
export function resolveLimits(limits: Partial<LinkLimits> | undefined): LinkLimits {
  if (limits === undefined) return DEFAULT_LIMITS
  let result = merged.get(limits)
  if (result === undefined) {
    result = { ...DEFAULT_LIMITS, ...limits }
    merged.set(limits, result)
  }
  return result
}
