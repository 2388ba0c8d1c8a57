import type { Channel } from './channel.ts'
import type { WheelEntry } from './wheel.ts'

/** A channel request of the peer. The application must accept or reject it, immediately or later. */
export interface ChannelRequest {
  /** Requested endpoint, for instance `executor` (docs/protocol.md 3.1); always valid UTF-8. */
  readonly endpoint: string
  /** False once the request was decided or timed out, or the link ended. */
  readonly isPending: boolean
  /**
   * Creates the channel. If the link has ended or the request has timed out, the returned channel is already closed. Throws if
   * the request was accepted or rejected before.
   */
  accept(): Channel
  /**
   * Rejects the request with a human-readable reason, truncated to 4 KiB (docs/protocol.md R-6). Does nothing if the request was
   * decided before.
   */
  reject(reason: string): void
}

/** Callbacks of a request that carry out the application's decision. */
export interface RequestOwner {
  accept(request: IncomingRequest): Channel
  reject(request: IncomingRequest, reason: string): void
}

/** Contents of the peer's ChannelRequest. */
export interface RequestedChannel {
  readonly senderId: number
  readonly frameCredit: number
  readonly byteCredit: number
}

/** A channel request of the peer, until it is decided. */
export class IncomingRequest implements ChannelRequest, WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly endpoint: string
  readonly senderId: number
  readonly frameCredit: number
  readonly byteCredit: number
  isPending = true
  readonly #owner: RequestOwner
  #isDecided = false

  constructor(owner: RequestOwner, endpoint: string, requested: RequestedChannel) {
    this.#owner = owner
    this.endpoint = endpoint
    this.senderId = requested.senderId
    this.frameCredit = requested.frameCredit
    this.byteCredit = requested.byteCredit
  }

  accept(): Channel {
    if (this.#isDecided) throw new Error('the channel request was decided before')
    this.#isDecided = true
    return this.#owner.accept(this)
  }

  reject(reason: string): void {
    if (this.#isDecided) return
    this.#isDecided = true
    if (this.isPending) this.#owner.reject(this, reason)
  }

  onDeadline(): void {
    this.#owner.reject(this, 'request timed out')
  }
}
