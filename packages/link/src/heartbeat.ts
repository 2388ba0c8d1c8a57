import { TICK_MS } from './wheel.ts'

/** What a link has to do at a heartbeat check. */
export type HeartbeatStep = 'SendPing' | 'Wait' | 'NoPong' | 'NotFlushed'

const POLL_TICKS = 1000 / TICK_MS
// A peer that sends other things may keep its Pong back this many times as long as a silent one.
const BUSY_FACTOR = 4

/**
 * Pings of one link and the peer's answers (protocol 2.9, R-16). Times are ticks of the wheel, except for
 * the round trip, which is milliseconds.
 */
export class Heartbeat {
  /** Smoothed round trip in milliseconds, once a Pong came. */
  roundTripMs: number | undefined
  readonly #intervalTicks: number
  readonly #maxIntervalTicks: number
  readonly #pongTicks: number
  readonly #flushTicks: number
  // Tick at which the last Ping was sent, and whether it still waits for its Pong.
  #pingTick = 0
  #isWaiting = false
  #flushedTick = 0
  #pingAtMs = 0

  /** A Ping is due `intervalMs` after the last one and the peer's last frame, and at the latest `maxIntervalMs` after the last one. */
  constructor(intervalMs: number, pongTimeoutMs: number, flushMs: number, maxIntervalMs = intervalMs) {
    this.#intervalTicks = Math.max(1, Math.ceil(intervalMs / TICK_MS))
    this.#maxIntervalTicks = Math.max(this.#intervalTicks, Math.ceil(maxIntervalMs / TICK_MS))
    this.#pongTicks = Math.max(1, Math.ceil(pongTimeoutMs / TICK_MS))
    this.#flushTicks = Math.max(1, Math.ceil(flushMs / TICK_MS))
  }

  /**
   * Decides at a check. `isFlushed` tells whether the outstanding Ping has left the transport's buffer: the
   * Pong's time runs from then, because a slow line with data ahead of the Ping is not a dead one. For the
   * same reason any frame is a sign of life for a while: old peers queue their Pong behind bulk data.
   */
  check(tick: number, nowMs: number, lastReceivedTick: number, isFlushed: boolean): HeartbeatStep {
    if (!this.#isWaiting) {
      if (tick < this.#dueTick(lastReceivedTick)) return 'Wait'
      this.#pingTick = tick
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

  /** True while a Ping waits to leave the transport's buffer. */
  get isUnflushed(): boolean {
    return this.#isWaiting && this.#flushedTick === 0
  }

  /** Notes between two checks that the Ping has left. */
  flushed(tick: number): void {
    this.#flushedTick = tick
  }

  /** Ticks from now to the next check. */
  nextCheck(tick: number, lastReceivedTick: number): number {
    if (!this.#isWaiting) return Math.max(1, this.#dueTick(lastReceivedTick) - tick)
    // A late Pong makes the next Ping due at once.
    const untilPing = this.#pingTick + this.#intervalTicks - tick
    const next = untilPing > 0 && this.#flushedTick !== 0 ? untilPing : POLL_TICKS
    return this.#flushedTick === 0
      ? next
      : Math.max(1, Math.min(next, this.#pongDeadline(lastReceivedTick) - tick))
  }

  /** Takes a Pong; false when none was asked for, which is fatal. */
  pong(nowMs: number): boolean {
    if (!this.#isWaiting) return false
    this.#isWaiting = false
    const latest = nowMs - this.#pingAtMs
    this.roundTripMs = this.roundTripMs === undefined ? latest : (this.roundTripMs * 7 + latest) / 8
    return true
  }

  #dueTick(lastReceivedTick: number): number {
    return Math.min(
      this.#pingTick + this.#maxIntervalTicks,
      Math.max(this.#pingTick, lastReceivedTick) + this.#intervalTicks,
    )
  }

  #pongDeadline(lastReceivedTick: number): number {
    return Math.min(
      Math.max(this.#flushedTick, lastReceivedTick) + this.#pongTicks,
      this.#flushedTick + this.#pongTicks * BUSY_FACTOR,
    )
  }
}
