import { TICK_MS } from './wheel.ts'

/** Result of a heartbeat check: the next step, or a reason to end the link. */
export type HeartbeatStep = 'SendPing' | 'Wait' | 'NoPong' | 'NotFlushed'

const POLL_TICKS = 1000 / TICK_MS
// A peer that sends other frames may answer a Ping this many times later than a silent peer.
const BUSY_FACTOR = 4
// Published Nexigon agents send Pings at the same interval as this side. Within 1.5 intervals the agent's Ping arrives and
// shows that the agent is alive, so this side need not send a Ping.
const PINGING_PEER_FACTOR = 1.5
// Least number of ticks of the timer wheel (100 ms) between two Pings, including Pings that want() requests. A current peer
// accepts at most 8 Pings per second (docs/protocol.md 2.10).
const MIN_INTERVAL_TICKS = 300 / TICK_MS

/**
 * Intervals and timeouts of heartbeats, in ticks of the timer wheel (100 ms). The first Ping is due `intervalMs` after the peer's Hello. A
 * later Ping is due `intervalMs` after both the last Ping and the peer's last frame; for a peer that also sends Pings, this wait is 1.5 times
 * as long. Every Ping is due at the latest `maxIntervalMs` after the last Ping.
 */
class HeartbeatTimes {
  readonly intervalTicks: number
  readonly pingingPeerTicks: number
  readonly maxIntervalTicks: number
  readonly pongTicks: number
  readonly flushTicks: number

  constructor(intervalMs: number, pongTimeoutMs: number, flushMs: number, maxIntervalMs = intervalMs) {
    this.intervalTicks = Math.max(1, Math.ceil(intervalMs / TICK_MS))
    this.pingingPeerTicks = Math.ceil(this.intervalTicks * PINGING_PEER_FACTOR)
    this.maxIntervalTicks = Math.max(this.intervalTicks, Math.ceil(maxIntervalMs / TICK_MS))
    this.pongTicks = Math.max(1, Math.ceil(pongTimeoutMs / TICK_MS))
    this.flushTicks = Math.max(1, Math.ceil(flushMs / TICK_MS))
  }
}

const shared = new Map<string, HeartbeatTimes>()
/** Maximum number of shared objects. A process uses one or two of them. */
const MAX_SHARED = 16

/** Times in ticks for times in milliseconds. Links with equal times share an object, because a hub has one link for each device. */
export function heartbeatTimes(...ms: ConstructorParameters<typeof HeartbeatTimes>): HeartbeatTimes {
  const key = ms.join(' ')
  const times = shared.get(key) ?? new HeartbeatTimes(...ms)
  if (shared.size < MAX_SHARED) shared.set(key, times)
  return times
}

/**
 * Tracks the Pings of one link and the peer's Pongs (docs/protocol.md 2.9, R-16). Times are ticks of the timer wheel (100 ms), except
 * for the round trip in milliseconds.
 */
export class Heartbeat {
  /** Smoothed round trip in milliseconds; undefined before the first Pong. */
  roundTripMs: number | undefined
  readonly #times: HeartbeatTimes
  // Tick of the timer wheel in which this side sent its last Ping. Before the first Ping: tick in which the peer's Hello
  // arrived.
  #pingTick = 0
  #hasPinged = false
  #doesPeerPing = false
  #isWanted = false
  #isWaiting = false
  #flushedTick = 0
  #pingAtMs = 0

  constructor(times: HeartbeatTimes) {
    this.#times = times
  }

  /** Records the peer's Hello. Returns the time until the first check, in ticks of the timer wheel. */
  begin(tick: number): number {
    this.#pingTick = tick
    return this.#times.intervalTicks
  }

  /**
   * True once this side has sent its first Ping, 5 s after the peer's Hello. An earlier Ping would make the peer take this side for a legacy
   * peer (docs/protocol.md 1.7).
   */
  get hasPinged(): boolean {
    return this.#hasPinged
  }

  /**
   * Makes a further Ping due as soon as the last Ping was answered, but no sooner than 300 ms after that Ping was sent. The first Ping is not
   * sent earlier.
   */
  want(): void {
    this.#isWanted = true
  }

  /** Records that the peer sent a Ping. */
  peerPinged(): void {
    this.#doesPeerPing = true
  }

  /**
   * Returns the next step. `isFlushed` is true once the outstanding Ping has left the transport's buffer. The timeout of the Pong starts at
   * that moment, because a slow line with data ahead of the Ping is not dead. Each received frame restarts the timeout, because the Pong
   * may be queued behind bulk data. Four times the timeout after its start, the Pong counts as late in any case.
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
      return tick - this.#pingTick >= this.#times.flushTicks && !isFlushed ? 'NotFlushed' : 'Wait'
    }
    return tick >= this.#pongDeadline(lastReceivedTick) ? 'NoPong' : 'Wait'
  }

  /** True while a sent Ping is still in the transport's buffer. */
  get isUnflushed(): boolean {
    return this.#isWaiting && this.#flushedTick === 0
  }

  /** Records between two checks that the Ping has left the transport's buffer. */
  flushed(tick: number): void {
    this.#flushedTick = tick
  }

  /** Returns the time until the next check, in ticks of the timer wheel. */
  nextCheck(tick: number, lastReceivedTick: number): number {
    if (!this.#isWaiting) return Math.max(1, this.#dueTick(lastReceivedTick) - tick)
    // A Ping is outstanding. Until it has left the transport's buffer, a check runs each second. Afterwards the next check is one interval
    // after the Ping was sent, and then a check runs each second again. A check also runs at the deadline of the Pong.
    const untilPing = this.#pingTick + this.#times.intervalTicks - tick
    const next = untilPing > 0 && this.#flushedTick !== 0 ? untilPing : POLL_TICKS
    return this.#flushedTick === 0
      ? next
      : Math.max(1, Math.min(next, this.#pongDeadline(lastReceivedTick) - tick))
  }

  /** Handles a Pong. Returns false when no Ping was outstanding, which ends the link. */
  pong(nowMs: number): boolean {
    if (!this.#isWaiting) return false
    this.#isWaiting = false
    const latest = nowMs - this.#pingAtMs
    this.roundTripMs = this.roundTripMs === undefined ? latest : (this.roundTripMs * 7 + latest) / 8
    return true
  }

  #dueTick(lastReceivedTick: number): number {
    if (!this.#hasPinged) return this.#pingTick + this.#times.intervalTicks
    if (this.#isWanted) return this.#pingTick + MIN_INTERVAL_TICKS
    const quietTicks = this.#doesPeerPing ? this.#times.pingingPeerTicks : this.#times.intervalTicks
    return Math.min(
      this.#pingTick + this.#times.maxIntervalTicks,
      Math.max(this.#pingTick, lastReceivedTick) + quietTicks,
    )
  }

  #pongDeadline(lastReceivedTick: number): number {
    return Math.min(
      Math.max(this.#flushedTick, lastReceivedTick) + this.#times.pongTicks,
      this.#flushedTick + this.#times.pongTicks * BUSY_FACTOR,
    )
  }
}
