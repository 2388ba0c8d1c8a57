/**
 * Reason of a link's end: `LocalClose` after our close(); `PeerClose` after the peer's Close frame; `TransportClosed`
 * when the transport ended without a Close frame; `Violation` when the peer broke the protocol; `Timeout` when a Hello or
 * Pong did not arrive in time; `ConsumerTooSlow` when the peer read too slowly for the bounded queue, or not at all for
 * 30 s (protocol 2.8 to 2.11).
 */
export interface LinkEnd {
  readonly kind: 'LocalClose' | 'PeerClose' | 'TransportClosed' | 'Violation' | 'Timeout' | 'ConsumerTooSlow'
  /** Text for people and logs. It contains text sent by the peer only for `PeerClose` and `TransportClosed`. */
  readonly reason: string
}

/** An undecodable frame, or a frame that breaks the protocol (2.2, 2.11). Fatal for the link that received it. */
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

/** The peer refused a channel, or did not answer in time. */
export class ChannelRejectedError extends Error {
  override name = 'ChannelRejectedError'
  /** The peer's reason, or `timed out` or `too many channels are waiting` from this side. */
  readonly reason: string

  constructor(reason: string) {
    super(`channel rejected: ${reason}`)
    this.reason = reason
  }

  /** True for the two reasons that mean "too many at the moment". */
  shouldRetry(): boolean {
    return RETRYABLE_REASONS.has(this.reason)
  }
}

/** The channel accepts no more data: it was ended here, the peer stopped reading, or the link ended (`cause`). */
export class ChannelClosedError extends Error {
  override name = 'ChannelClosedError'
}

/** The peer sent bytes on an executor channel that are not a valid response (protocol 3.2). */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
}

/** The peer answered an action with an error envelope (protocol 3.2). */
export class RemoteActionError extends Error {
  override name = 'RemoteActionError'
  /** `Invalid`, `Forbidden`, `Internal` or `RateLimited`; newer peers may send others. */
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
