/**
 * Reason of a link's end (docs/protocol.md 2.8 to 2.11):
 *
 * - `LocalClose`: close() was called on this side, or this side had an internal error.
 * - `PeerClose`: the peer sent a Close frame.
 * - `TransportClosed`: the transport ended without a Close frame.
 * - `Violation`: the peer broke the protocol.
 * - `Timeout`: a Hello or Pong did not arrive in time.
 * - `ConsumerTooSlow`: the peer read too slowly for the bounded queue, or read nothing for 30 s.
 */
export interface LinkEnd {
  readonly kind: 'LocalClose' | 'PeerClose' | 'TransportClosed' | 'Violation' | 'Timeout' | 'ConsumerTooSlow'
  /** Human-readable reason. It contains text sent by the peer only for `PeerClose` and `TransportClosed`. */
  readonly reason: string
}

/** A frame that cannot be decoded or breaks the protocol (docs/protocol.md 2.2, 2.11). It ends the link that received it. */
export class FrameError extends Error {
  override name = 'FrameError'
}

/** An operation on a link or channel failed because the link ended. */
export class LinkEndedError extends Error {
  override name = 'LinkEndedError'
  readonly end: LinkEnd

  constructor(end: LinkEnd) {
    super(end.reason === '' ? `link ended: ${end.kind}` : `link ended: ${end.kind}: ${end.reason}`)
    this.end = end
  }

  /** Always true: the same operation may succeed on another link. */
  shouldRetry(): boolean {
    return true
  }
}

const RETRYABLE_REASONS = new Set(['connection channel limit reached', 'too many concurrent TCP forwardings'])

/** The peer rejected a channel, or did not answer in time. */
export class ChannelRejectedError extends Error {
  override name = 'ChannelRejectedError'
  /** The peer's reason, or `timed out` or `too many channels are waiting`, which this side sets. */
  readonly reason: string

  constructor(reason: string) {
    super(`channel rejected: ${reason}`)
    this.reason = reason
  }

  /** True for the two reasons that mean "too many channels at the moment" (docs/protocol.md R-17). */
  shouldRetry(): boolean {
    return RETRYABLE_REASONS.has(this.reason)
  }
}

/**
 * A write failed because the channel accepts no more data: this side ended it, the peer stopped reading, or the link ended (`cause`). Or a
 * read failed because another node aborted the channel.
 */
export class ChannelClosedError extends Error {
  override name = 'ChannelClosedError'
}

/** The peer sent bytes on an executor channel that are not a valid response (docs/protocol.md 3.2). */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
}

/** The peer answered an action with an error envelope (docs/protocol.md 3.2). */
export class RemoteActionError extends Error {
  override name = 'RemoteActionError'
  /** `Invalid`, `Forbidden`, `Internal` or `RateLimited`; newer peers may send other kinds. */
  readonly kind: string

  constructor(kind: string, message: string) {
    super(message)
    this.kind = kind
  }

  /** True when the same request may succeed later. */
  shouldRetry(): boolean {
    return this.kind === 'RateLimited' || this.kind === 'Internal'
  }
}
