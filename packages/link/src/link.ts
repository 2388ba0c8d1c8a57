import type { Channel } from './channel.ts'
import { systemClock } from './clock.ts'
import type { LinkEnd } from './errors.ts'
import { LinkCore } from './link-core.ts'
import type { LinkOptions } from './link-options.ts'
import type { OpenOptions } from './opening.ts'
import type { PeerAge } from './peer-age.ts'
import type { Transport } from './transport.ts'
import { wheelOf } from './wheel.ts'

const NO_OPTIONS: LinkOptions = {}

/**
 * A multiplexed connection: channels in both directions over a transport (docs/protocol.md 2). The owner of the transport passes
 * received messages to receive(), calls drained() when the transport's buffer has drained, and transportClosed() when the
 * transport ended. A peer that breaks the protocol ends only its own link.
 */
export class Link {
  readonly #core: LinkCore

  /** Sends Hello immediately (docs/protocol.md R-7). */
  constructor(transport: Transport, options: LinkOptions = NO_OPTIONS) {
    const clock = options.clock ?? systemClock
    this.#core = new LinkCore(transport, options, clock, wheelOf(clock))
  }

  /**
   * Handles one binary message of the transport. Never throws. The memory of the message must not be reused: channels keep
   * views of it until their data was read.
   */
  receive(message: Uint8Array): void {
    this.#core.receive(message)
  }

  /** Reports a text message, which ends the link (docs/protocol.md R-5). */
  receiveText(): void {
    this.#core.finish({ kind: 'Violation', reason: 'text message' })
  }

  /**
   * Call this when `bufferedBytes` of the transport has decreased, at the latest when it falls below the limit
   * `transportBufferBytes`. Without this call, queued frames may stay queued.
   */
  drained(): void {
    this.#core.drained()
  }

  /** Call this when the peer has answered a probe of the transport (`Transport.probe`). */
  probed(): void {
    this.#core.probed()
  }

  /** Call this when the transport ended for any reason. */
  transportClosed(reason = ''): void {
    this.#core.transportClosed(reason)
  }

  /**
   * Requests a channel from the peer. Waits while too many channels are open or requested (docs/protocol.md R-17), and retries when the
   * peer rejects because of too many channels. Rejects with ChannelRejectedError when the peer rejects or a timeout passes, with
   * LinkEndedError when the link ends, and with the signal's reason when it aborts.
   */
  open(endpoint: string, options?: OpenOptions): Promise<Channel> {
    return this.#core.open(endpoint, options)
  }

  /** Sends Close to the peer and ends the link with its channels. Unsent data is dropped (docs/protocol.md R-15). */
  close(reason = ''): void {
    this.#core.finish({ kind: 'LocalClose', reason })
  }

  /** Resolves when the link has ended. Never rejects. */
  get ended(): Promise<LinkEnd> {
    return this.#core.ended
  }

  /** The reason of the link's end, undefined while it is open. */
  get end(): LinkEnd | undefined {
    return this.#core.end
  }

  /** True until the link ends, even before the peer's Hello. */
  get isOpen(): boolean {
    return this.#core.end === undefined
  }

  /** Smoothed round trip of Pings in milliseconds; undefined before the first Pong. */
  get roundTripMs(): number | undefined {
    return this.#core.roundTripMs
  }

  /**
   * Time at which the last frame was received, in milliseconds of the link's clock, accurate to 100 ms. Before the first frame:
   * time at which the link was created.
   */
  get lastReceivedAt(): number {
    return this.#core.lastReceivedAt
  }

  /** Number of bytes that wait to be sent, including the transport's buffer; 0 after the end. */
  get unreadBytes(): number {
    return this.#core.queuedBytes
  }

  /** Number of open channels, whichever side opened them. */
  get channelCount(): number {
    return this.#core.channelCount
  }

  /**
   * Call this when the peer is known to deliver data that it has not read when ChannelClosed arrives. From then on, ends of data are sent
   * without delay also if the peer is a legacy peer (docs/protocol.md R-12).
   */
  peerKeepsUnreadData(): void {
    this.#core.keepsUnreadData = true
  }

  /**
   * Generation of the peer's multiplexer: `Legacy` before 2026-07-27, else `Current`. A peer that is not `Current` may not know
   * `RateLimited` (docs/protocol.md R-19), and needs special handling of the end of data in each direction (docs/protocol.md ).
   */
  get peerAge(): PeerAge {
    return this.#core.peerAge
  }
}
