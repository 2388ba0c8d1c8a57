import type { Channel } from './channel.ts'
import { type Clock, systemClock } from './clock.ts'
import type { LinkEnd } from './errors.ts'
import type { LinkLimits } from './limits.ts'
import { LinkCore } from './link-core.ts'
import type { OpenOptions } from './opening.ts'
import type { ChannelRequest } from './request.ts'
import type { Transport } from './transport.ts'
import { wheelOf } from './wheel.ts'

/** What a link does beyond the protocol's rules. The hooks are called as methods of this object. */
export interface LinkOptions {
  /** Decides on channel requests of the peer, sooner or later; without it every endpoint is unknown. */
  readonly onRequest?: ((request: ChannelRequest) => void) | undefined
  /** Takes what hooks of the application threw; the channel concerned is closed. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Told the link's end when everything else about it is over; `ended` tells it to those who wait. */
  readonly onEnded?: ((end: LinkEnd) => void) | undefined
  /** Bounds that differ from DEFAULT_LIMITS; links given the same object share memory. */
  readonly limits?: Partial<LinkLimits> | undefined
  /** The system's clock by default. */
  readonly clock?: Clock | undefined
  /** Time between Pings (protocol 2.9), 5,000 by default. */
  readonly pingIntervalMs?: number | undefined
  /**
   * Time between Pings to a peer whose own frames show that it lives, the same as to a silent one by default: on a hub with many
   * idle devices, which ping by themselves, further ones would tell nothing.
   */
  readonly maxPingIntervalMs?: number | undefined
  /** Time for a Pong from a peer that sends nothing else, 15,000 by default. */
  readonly pongTimeoutMs?: number | undefined
}

const NO_OPTIONS: LinkOptions = {}

/**
 * One multiplexed connection: channels in both directions over a transport (protocol 2). Whoever owns the
 * transport passes its messages to receive(), and tells when its buffer drained and when it ended. A peer
 * that breaks the rules ends its own link and nothing else.
 */
export class Link {
  readonly #core: LinkCore

  /** Sends Hello at once. */
  constructor(transport: Transport, options: LinkOptions = NO_OPTIONS) {
    const clock = options.clock ?? systemClock
    this.#core = new LinkCore(this, transport, options, clock, wheelOf(clock))
  }

  /**
   * Takes one binary message of the transport. Never throws. The memory must not be used again: channels
   * keep views of it until their data was read.
   */
  receive(message: Uint8Array): void {
    this.#core.receive(message)
  }

  /** Takes note of a text message, which ends the link. */
  receiveText(): void {
    this.#core.finish({ kind: 'Violation', reason: 'text message' })
  }

  /**
   * To be called when the transport's bufferedBytes went down, at the latest when they fall below the limit
   * `transportBufferBytes`: what waits there waits for this call.
   */
  drained(): void {
    this.#core.drained()
  }

  /** To be called when the transport ended, however it did. */
  transportClosed(reason = ''): void {
    this.#core.transportClosed(reason)
  }

  /**
   * Asks the peer for a channel. Waits while too many are open or asked for, and tries again when the
   * peer says that it has too many. Rejects with ChannelRejectedError, with LinkEndedError, or with the
   * signal's reason.
   */
  open(endpoint: string, options?: OpenOptions): Promise<Channel> {
    return this.#core.open(endpoint, options)
  }

  /** Tells the peer and ends the link and its channels; data that has not left is dropped. */
  close(reason = ''): void {
    this.#core.finish({ kind: 'LocalClose', reason })
  }

  /** Resolves when the link ended; never rejects. */
  get ended(): Promise<LinkEnd> {
    return this.#core.ended
  }

  /** How the link ended, undefined while it is open. */
  get end(): LinkEnd | undefined {
    return this.#core.end
  }

  /** True until the link ended; also before the peer's Hello. */
  get isOpen(): boolean {
    return this.#core.end === undefined
  }

  /** Smoothed round trip of Pings in milliseconds, once one was answered. */
  get roundTripMs(): number | undefined {
    return this.#core.roundTripMs
  }

  /** Time of the clock at which the last frame came, to within a tenth of a second; at first the link's start. */
  get lastReceivedAt(): number {
    return this.#core.lastReceivedAt
  }

  /** Open channels of both directions. */
  get channelCount(): number {
    return this.#core.channelCount
  }

  /**
   * True for peers of before 2026-07-27, told by a Ping right after their Hello (protocol 1.7). They may not
   * know `RateLimited`, and their ends of data are handled with care.
   */
  get isPeerLegacy(): boolean {
    return this.#core.isPeerLegacy
  }
}
