import { setTimeout as sleep } from 'node:timers/promises'
import { type Caller, personOf } from '../pipeline/caller.ts'
import type { RateLimits } from './rate-limits.ts'

/** Inputs of one person, or of one address without credentials, that are refused at once. Scripts with a bug send fewer. */
const AT_ONCE = { calls: 1_000, perSecs: 10 }
/** Time for which each further refusal is held back, in milliseconds. */
const HELD_MS = 1_000

/**
 * Holds back the refusals of a caller who keeps sending inputs that are not valid. Such a caller would otherwise send the next one at once,
 * and keep this node busy with parsing them. Valid calls of the same caller are not held back. Devices have their own pace (`DevicePace`).
 */
export class RefusedInputs {
  readonly #rates: RateLimits

  constructor(rates: RateLimits) {
    this.#rates = rates
  }

  /** Counts a refused input. Resolves when it may be answered, or when `signal` aborts. */
  async hold(caller: Caller, address: string | undefined, signal: AbortSignal): Promise<void> {
    const key = personOf(caller)?.userId ?? (caller.actor === 'Anonymous' ? address : undefined)
    if (key === undefined) return
    const secs = await this.#rates.takeWithRate('refused inputs', key, AT_ONCE)
    // An aborted wait is no error: its caller has left.
    if (secs !== undefined) await sleep(HELD_MS, undefined, { signal }).catch(() => {})
  }
}
