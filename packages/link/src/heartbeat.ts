import { TICK_MS } from './wheel.ts'

/** Result of a heartbeat check: the next step, or a reason to end the link. */
export type HeartbeatStep = 'SendPing' | 'Wait' | 'NoPong' | 'NotFlushed'

const POLL_TICKS = 1000 / TICK_MS
// A peer that sends other frames may answer a Ping this many times later than a silent one.
const BUSY_FACTOR = 4
// Public peers ping at our own interval. Waiting 1.5 intervals gives their Ping time to arrive first.
const PINGING_PEER_FACTOR = 1.5
// Least time between Pings, requested ones included. A current peer accepts at most 8 per second (protocol 2.10).
const MIN_INTERVAL_TICKS = 300 / TICK_MS

/**
 * Tracks the Pings of one link and the peer's Pongs (protocol 2.9, R-16). Times are ticks of the wheel, except for the
 * round trip in milliseconds.
 */
export class Heartbeat {
  /** Smoothed round trip in milliseconds; undefined before the first Pong. */
  roundTripMs: number | undefined
  readonly #intervalTicks: number
  readonly #pingingPeerTicks: number
  readonly #maxIntervalTicks: number
  readonly #pongTicks: number
  readonly #flushTicks: number
  // Tick of the peer's Hello or of the last Ping, and whether that Ping still waits for its Pong.
  #pingTick = 0
  #hasPinged = false
  #doesPeerPing = false
  #isWanted = false
  #isWaiting = false
  #flushedTick = 0
  #pingAtMs = 0

  /**
   * The first Ping is due `intervalMs` after the peer's Hello. A later Ping is due `intervalMs` after both the last Ping
   * and the peer's last frame, or 1.5 times as long for a peer that sends Pings too. It is due `maxIntervalMs` after the
   * last Ping at the latest.
   */
  constructor(intervalMs: number, pongTimeoutMs: number, flushMs: number, maxIntervalMs = intervalMs) {
    this.#intervalTicks = Math.max(1, Math.ceil(intervalMs / TICK_MS))
    this.#pingingPeerTicks = Math.ceil(this.#intervalTicks * PINGING_PEER_FACTOR)
    this.#maxIntervalTicks = Math.max(this.#intervalTicks, Math.ceil(maxIntervalMs / TICK_MS))
    this.#pongTicks = Math.max(1, Math.ceil(pongTimeoutMs / TICK_MS))
    this.#flushTicks = Math.max(1, Math.ceil(flushMs / TICK_MS))
  }

  /** Notes the peer's Hello. Returns the ticks until the first check. */
  begin(tick: number): number {
    this.#pingTick = tick
    return this.#intervalTicks
  }

  /** Makes a Ping due as soon as the last one was answered, but no sooner than 300 ms after it. */
  want(): void {
    this.#isWanted = true
  }

  /** Notes that the peer sent a Ping. */
  peerPinged(): void {
    this.#doesPeerPing = true
  }

  /**
   * Returns the step for a check. `isFlushed` is true once the outstanding Ping has left the transport's buffer. The
   * timeout of the Pong starts then, because a slow line with data ahead of the Ping is not dead. Any other frame extends
   * that timeout, up to four times its length, because old peers queue their Pong behind bulk data.
   */
  check(tick: number, nowMs: number, lastReceivedTick: number, isFlushed: boolean): HeartbeatStep {
    if (!this.#isWaiting) {
      if (tick < this.#dueTick(lastReceivedTick)) return 'Wait'
      this.#pingTick = tick
      this.#hasPinged = true
      this.#isWanted = false
      this.#pingAtMs = nowMs
      this.#isWaiting = true
      this.#flushedTick = 0
      return 'SendPing'
    }
    if (this.#flushedTick === 0) {
      if (isFlushed) this.#flushedTick = tick
      return tick - this.#pingTick >= this.#flushTicks && !isFlushed ? 'NotFlushed' : 'Wait'
    }
    return tick >= this.#pongDeadline(lastReceivedTick) ? 'NoPong' : 'Wait'
  }

  /** True while a sent Ping is still in the transport's buffer. */
  get isUnflushed(): boolean {
    return this.#isWaiting && this.#flushedTick === 0
  }

  /** Notes between two checks that the Ping has left the buffer. */
  flushed(tick: number): void {
    this.#flushedTick = tick
  }

  /** Ticks until the next check. */
  nextCheck(tick: number, lastReceivedTick: number): number {
    if (!this.#isWaiting) return Math.max(1, this.#dueTick(lastReceivedTick) - tick)
    // A late Pong makes the next Ping due at once.
    const untilPing = this.#pingTick + this.#intervalTicks - tick
    const next = untilPing > 0 && this.#flushedTick !== 0 ? untilPing : POLL_TICKS
    return this.#flushedTick === 0
      ? next
      : Math.max(1, Math.min(next, this.#pongDeadline(lastReceivedTick) - tick))
  }

  /** Handles a Pong. Returns false when no Ping was outstanding, which is fatal. */
  pong(nowMs: number): boolean {
    if (!this.#isWaiting) return false
    this.#isWaiting = false
    const latest = nowMs - this.#pingAtMs
    this.roundTripMs = this.roundTripMs === undefined ? latest : (this.roundTripMs * 7 + latest) / 8
    return true
  }

  #dueTick(lastReceivedTick: number): number {
    if (this.#isWanted) return this.#pingTick + (this.#hasPinged ? MIN_INTERVAL_TICKS : 0)
    if (!this.#hasPinged) return this.#pingTick + this.#intervalTicks
    const quietTicks = this.#doesPeerPing ? this.#pingingPeerTicks : this.#intervalTicks
    return Math.min(
      this.#pingTick + this.#maxIntervalTicks,
      Math.max(this.#pingTick, lastReceivedTick) + quietTicks,
    )
  }

  #pongDeadline(lastReceivedTick: number): number {
    return Math.min(
      Math.max(this.#flushedTick, lastReceivedTick) + this.#pongTicks,
      this.#flushedTick + this.#pongTicks * BUSY_FACTOR,
    )
  }
}
