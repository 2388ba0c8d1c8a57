/**
 * How a link ended: `LocalClose` by our close(), `PeerClose` by the peer's Close frame, `TransportClosed`
 * without one, `Violation` of the protocol by the peer, `Timeout` of a Hello or Pong, `ConsumerTooSlow`
 * when the peer took our data too slowly for the bounded queue, or none for 30 s (protocol 2.8 to 2.11).
 */
export interface LinkEnd {
  readonly kind: 'LocalClose' | 'PeerClose' | 'TransportClosed' | 'Violation' | 'Timeout' | 'ConsumerTooSlow'
  /** For people and logs; text of the peer is in it only for `PeerClose` and `TransportClosed`. */
  readonly reason: string
}

/** Bytes that are no frame, or a frame against the rules (protocol 2.2, 2.11); fatal for the link that received it. */
export class FrameError extends Error {
  override name = 'FrameError'
}

/** Whatever was asked of a link or one of its channels could not be finished because the link ended. */
export class LinkEndedError extends Error {
  override name = 'LinkEndedError'
  readonly end: LinkEnd

  constructor(end: LinkEnd) {
    super(end.reason === '' ? `link ended: ${end.kind}` : `link ended: ${end.kind}: ${end.reason}`)
    this.end = end
  }

  /** True: on another link the same may succeed. */
  shouldRetry(): boolean {
    return true
  }
}

const RETRYABLE_REASONS = new Set(['connection channel limit reached', 'too many concurrent TCP forwardings'])

/** The peer refused a channel, or did not answer in time. */
export class ChannelRejectedError extends Error {
  override name = 'ChannelRejectedError'
  /** The peer's words, or `timed out`, `too many channels are waiting` from this side. */
  readonly reason: string

  constructor(reason: string) {
    super(`channel rejected: ${reason}`)
    this.reason = reason
  }

  /** True for the reasons that only say "too many at the moment". */
  shouldRetry(): boolean {
    return RETRYABLE_REASONS.has(this.reason)
  }
}

/** The channel takes no more data: it was ended here, the peer reads no more, or the link ended (`cause`). */
export class ChannelClosedError extends Error {
  override name = 'ChannelClosedError'
}

/** The peer of an executor channel sent something that is no response (protocol 3.2). */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
}

/** The action was run or refused by the peer and answered with an error envelope (protocol 3.2). */
export class RemoteActionError extends Error {
  override name = 'RemoteActionError'
  /** `Invalid`, `Forbidden`, `Internal` or `RateLimited`; a newer peer may know more. */
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
