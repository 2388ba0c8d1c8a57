import { MAX_ACTION_BODY_BYTES } from '@muster/actions'
import type { LimitReports } from './limit-reports.ts'
import type { LimitValues } from './limits.ts'
import { type WriteSubject, writeSubject } from './write-budgets.ts'

/** Bytes that a device may send at once after a pause: one input of the largest size is never held back. */
const BURST_BYTES = MAX_ACTION_BODY_BYTES
/** Bytes that a call counts for besides its input, so that many small calls count as well. */
const CALL_BYTES = 1024
/** Bytes that a call counts for which a limit refuses: it took a look at the database, and the next one will as well. */
export const REFUSED_CALL_BYTES = 64 * 1024
/** Longest time for which one answer is held back, in milliseconds. */
const MAX_HOLD_MS = 20_000
/** Time of an answer from which operators hear of it, in milliseconds. */
const REPORTED_HOLD_MS = 250
/** Interval in which devices that have been quiet are forgotten, in milliseconds. */
const SWEEP_MS = 60_000

/**
 * Slows down devices that send faster than `device-bytes-per-second`: their answers are held back, and the next call of a channel waits
 * for the answer. Nothing is refused. A device that is over another budget is slowed down by its refused calls as well, so that
 * receiving and parsing them leaves the hub to the others.
 */
export class DevicePace {
  readonly #bytesPerSec: number
  readonly #reports: LimitReports
  readonly #levels = new Map<string, { bytes: number; atMs: number }>()
  #sweptAtMs = performance.now()

  constructor(limits: LimitValues, reports: LimitReports) {
    this.#bytesPerSec = limits['device-bytes-per-second']
    this.#reports = reports
  }

  /** Counts a call; returns for how long its answer is to be held back, in milliseconds. */
  charge(subject: WriteSubject, inputBytes: number, nowMs = performance.now()): number {
    if (nowMs - this.#sweptAtMs > SWEEP_MS) this.#sweep(nowMs)
    const { deviceId } = subject
    const before = this.#levels.get(deviceId)
    const bytes = inputBytes + CALL_BYTES + (before ? this.#left(before, nowMs) : 0)
    if (before) {
      before.bytes = bytes
      before.atMs = nowMs
    } else this.#levels.set(deviceId, { bytes, atMs: nowMs })
    const holdMs = Math.min(MAX_HOLD_MS, ((bytes - BURST_BYTES) / this.#bytesPerSec) * 1000)
    if (holdMs >= REPORTED_HOLD_MS) {
      const secs = (holdMs / 1000).toFixed(1)
      const message = `Limit device-bytes-per-second: found ${Math.round(bytes)} bytes that were sent faster than ${this.#bytesPerSec} bytes a second, held an answer back for ${secs} s.`
      this.#reports.add('device-bytes-per-second', writeSubject(subject), message)
    }
    return Math.max(0, holdMs)
  }

  #left({ bytes, atMs }: { bytes: number; atMs: number }, nowMs: number): number {
    return Math.max(0, bytes - ((nowMs - atMs) / 1000) * this.#bytesPerSec)
  }

  #sweep(nowMs: number): void {
    this.#sweptAtMs = nowMs
    for (const [deviceId, level] of this.#levels)
      if (this.#left(level, nowMs) === 0) this.#levels.delete(deviceId)
  }
}
