import { FRAME } from './frames.ts'

/** Bounds of one link (docs/protocol.md 2.10, R-17). */
export interface LinkLimits {
  /** Number of channels open or requested, by both sides together; further requests are rejected. */
  readonly maxChannels: number
  /** Number of the peer's channel requests that wait for accept() or reject(); further requests are rejected. */
  readonly maxPendingRequests: number
  /** Milliseconds to decide a channel request of the peer. Afterwards the request is rejected. */
  readonly requestDecisionMs: number
  /** Number of channels open or requested by this side; further calls of open() wait (docs/protocol.md R-17). */
  readonly maxOpenedChannels: number
  /** Number of this side's channel requests that the peer has not answered; further calls of open() wait (docs/protocol.md R-17). */
  readonly maxOpensInFlight: number
  /**
   * Number of this side's channel requests per second. Half of this number may be sent in one burst. Further calls of open()
   * wait (docs/protocol.md R-17).
   */
  readonly opensPerSecond: number
  /** Number of waiting calls of open(); further calls are rejected immediately. */
  readonly maxWaitingOpens: number
  /** Number of the peer's channel requests per second; a higher rate ends the link. */
  readonly requestsPerSecond: number
  /**
   * Number of control frames that the peer may send per second; a higher rate ends the link. All frames count, except ChannelData and a
   * ChannelAdjust that answers data.
   */
  readonly controlFramesPerSecond: number
  /** Number of the peer's Pings per second; a higher rate ends the link. */
  readonly pingsPerSecond: number
  /** Number of the peer's frames per second for channels that never existed or ended long ago; a higher rate ends the link. */
  readonly unknownFramesPerSecond: number
  /** Length of one frame in bytes; a longer frame ends the link. */
  readonly maxFrameBytes: number
  /** Milliseconds from the start of the link to the peer's Hello; a later Hello ends the link. */
  readonly handshakeMs: number
  /**
   * Milliseconds within which a Ping must leave the transport's buffer, else the link ends. The link also ends if action requests wait
   * because too many answers are queued, and no byte of an answer is sent for this time.
   */
  readonly flushMs: number
  /**
   * Number of bytes queued to be sent, including the transport's buffer; more bytes end the link. The number is checked when a channel
   * writes although its last tryWrite() returned false, and when a channel writes while more than this number is queued. A link therefore
   * holds at most this number plus one write.
   */
  readonly maxQueuedBytes: number
  /** Number of queued frames other than data; a longer queue ends the link. */
  readonly maxQueuedFrames: number
  /**
   * When the transport's buffer holds this many bytes, frames are queued in the link instead, so that Pongs stay ahead of data.
   */
  readonly transportBufferBytes: number
  /** When one channel has this many queued bytes, write() waits and tryWrite() returns false. */
  readonly channelHighWaterBytes: number
  /**
   * When the whole link has this many queued bytes, including the transport's buffer, a channel that has queued bytes accepts
   * no more. If answers of actions alone make up this many queued bytes, no further action is started.
   */
  readonly linkHighWaterBytes: number
  /** Largest receive window of one channel, in frames and in bytes. */
  readonly maxReceiveFrames: number
  readonly maxReceiveBytes: number
}

/** The limits of a current Nexigon agent (docs/protocol.md 2.10), and the limits of R-17 for channels that this side opens. */
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

/** Fills in the default limits. Links that are given the same `limits` object share the result. */
export function resolveLimits(limits: Partial<LinkLimits> | undefined): LinkLimits {
  if (limits === undefined) return DEFAULT_LIMITS
  let result = merged.get(limits)
  if (result === undefined) {
    result = { ...DEFAULT_LIMITS, ...limits }
    merged.set(limits, result)
  }
  return result
}
