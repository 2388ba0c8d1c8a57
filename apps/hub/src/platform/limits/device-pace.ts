import { MAX_ACTION_BODY_BYTES } from '@muster/actions'
import type { LimitReports } from './limit-reports.ts'
import type { LimitValues } from './limits.ts'
import { type WriteSubject, writeSubject } from './write-budgets.ts'

/** Bytes that a device may send in a burst. An input of the largest size after a pause is therefore not delayed. */
const BURST_BYTES = MAX_ACTION_BODY_BYTES
/** Bytes charged for a call in addition to its input, so that many small calls count as well. */
const CALL_BYTES = 1024
/** Bytes charged for a call that a limit refused, because refusing it costs a query of the database. */
export const REFUSED_CALL_BYTES = 64 * 1024
/** Longest delay of an answer, in milliseconds. */
const MAX_DELAY_MS = 20_000
/** Delay of an answer from which on the delay is reported to operators, in milliseconds. */
const REPORTED_DELAY_MS = 250
/** Interval at which idle devices are removed from memory, in milliseconds. */
const SWEEP_MS = 60_000

/**
 * Slows down devices that send faster than `device-bytes-per-second`. Their answers are delayed, and a channel runs its next call
 * after the answer. No call is refused. Calls that another limit refused are charged too, so that parsing them does not use up
 * the hub's CPU.
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

  /** Charges a call. Returns the delay of its answer in milliseconds. */
  charge(subject: WriteSubject, inputBytes: number, nowMs = performance.now()): number {
    if (nowMs - this.#sweptAtMs > SWEEP_MS) this.#sweep(nowMs)
    const { deviceId } = subject
    const before = this.#levels.get(deviceId)
    const bytes = inputBytes + CALL_BYTES + (before ? this.#left(before, nowMs) : 0)
    if (before) {
      before.bytes = bytes
      before.atMs = nowMs
    } else this.#levels.set(deviceId, { bytes, atMs: nowMs })
    const delayMs = Math.min(MAX_DELAY_MS, ((bytes - BURST_BYTES) / this.#bytesPerSec) * 1000)
    if (delayMs >= REPORTED_DELAY_MS) {
      const secs = (delayMs / 1000).toFixed(1)
      const message = `Limit device-bytes-per-second: found ${Math.round(bytes)} bytes that were sent faster than ${this.#bytesPerSec} bytes a second, held an answer back for ${secs} s.`
      this.#reports.add('device-bytes-per-second', writeSubject(subject), message)
    }
    return Math.max(0, delayMs)
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
