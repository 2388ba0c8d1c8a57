import type { Clock } from './clock.ts'
import type { LinkEnd } from './errors.ts'
import type { LinkLimits } from './limits.ts'
import type { ChannelRequest } from './request.ts'

/** Options of a link. The hooks are called as methods of this object. */
export interface LinkOptions {
  /** Accepts or rejects channel requests of the peer, at once or later. Without it every request is rejected. */
  readonly onRequest?: ((request: ChannelRequest) => void) | undefined
  /** Receives errors thrown by hooks of the application; the channel concerned is closed. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Called with the link's end after all its channels have ended. `ended` is the promise for the same. */
  readonly onEnded?: ((end: LinkEnd) => void) | undefined
  /** Limits that differ from DEFAULT_LIMITS. Links given the same object share the merged result. */
  readonly limits?: Partial<LinkLimits> | undefined
  /** The system's clock by default. */
  readonly clock?: Clock | undefined
  /** Milliseconds between Pings (protocol 2.9), 5,000 by default. */
  readonly pingIntervalMs?: number | undefined
  /**
   * Milliseconds between Pings to a peer whose own frames show that it is alive; `pingIntervalMs` by default. A hub with
   * many idle devices can save most of its Pings, because devices send Pings too. A peer that sends Pings counts as silent
   * after 1.5 times `pingIntervalMs`, so that its Ping arrives before ours is due.
   */
  readonly maxPingIntervalMs?: number | undefined
  /** Milliseconds until the Pong of a peer that sends no other frames, 15,000 by default. */
  readonly pongTimeoutMs?: number | undefined
}
