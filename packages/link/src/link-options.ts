import type { Clock } from './clock.ts'
import type { LinkEnd } from './errors.ts'
import type { LinkLimits } from './limits.ts'
import type { ChannelRequest } from './request.ts'

/** Options of a link. The hooks are called as methods of this object. */
export interface LinkOptions {
  /** Accepts or rejects channel requests of the peer, immediately or later. Without this hook every request is rejected. */
  readonly onRequest?: ((request: ChannelRequest) => void) | undefined
  /** Receives errors thrown by hooks of the application; the channel concerned is closed. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Called after all channels of the link have ended, with the value to which the promise `ended` of the link resolves. */
  readonly onEnded?: ((end: LinkEnd) => void) | undefined
  /** Called when the Hello of a hub names the milliseconds within which this device shall return after a crash (docs/protocol.md R-26). */
  readonly onReturnBound?: ((returnWithinMs: number) => void) | undefined
  /** Milliseconds within which the peer, a device, shall return after a crash of this hub. Read once, for the Hello. */
  readonly returnWithinMs?: number | undefined
  /** Limits that differ from DEFAULT_LIMITS. Links that are given the same object share the merged result. */
  readonly limits?: Partial<LinkLimits> | undefined
  /** Clock of the link, the system's monotonic clock by default. */
  readonly clock?: Clock | undefined
  /** Milliseconds between Pings (docs/protocol.md 2.9), 5,000 by default. */
  readonly pingIntervalMs?: number | undefined
  /**
   * Milliseconds between Pings to a peer whose own frames show that it is alive; `pingIntervalMs` by default. A hub with many
   * idle devices can save most of its Pings, because devices send Pings too. A peer that sends Pings counts as silent after 1.5
   * times `pingIntervalMs`, so that its next Ping arrives before this side's Ping is due.
   */
  readonly maxPingIntervalMs?: number | undefined
  /** Milliseconds within which a peer that sends no other frames must answer a Ping, 15,000 by default. */
  readonly pongTimeoutMs?: number | undefined
  /**
   * True if the peer is another node of the same hub (docs/node-links.md). The peer is then known to be no legacy peer (`PeerAge`), and a
   * reason in its ChannelClosed means that it has aborted the channel, so that the data received before is truncated.
   */
  readonly isPeerNode?: boolean | undefined
}
