import { setTimeout as sleep } from 'node:timers/promises'
import { type Caller, personOf } from '../pipeline/caller.ts'
import type { RateLimits } from './rate-limits.ts'

/** Inputs of one person, or of one address without credentials, that are refused at once. Scripts with a bug send fewer. */
const AT_ONCE = { calls: 1_000, perSecs: 10 }
/** Time for which each further refusal is held back, in milliseconds. */
const HELD_MS = 1_000
/** Refusals that are held back at once, of one caller and of all. The request of each is in memory meanwhile. Further ones are answered at once. */
const MAX_HELD = { ofCaller: 8, ofAll: 64 }
/** Longest input whose refusal is held back, in characters. A longer one takes its sender time anyway. */
const MAX_HELD_LENGTH = 64 * 1024

/**
 * Holds back the refusals of a caller who keeps sending inputs that are not valid. Such a caller would otherwise send the next one at once,
 * and keep this node busy with parsing them. Valid calls of the same caller are not held back. Devices have their own pace (`DevicePace`).
 */
export class RefusedInputs {
  readonly #rates: RateLimits
  readonly #held = new Map<string, number>()

  constructor(rates: RateLimits) {
    this.#rates = rates
  }

  /** Counts a refused input. Resolves when it may be answered, or when `signal` aborts. */
  async hold(
    caller: Caller,
    address: string | undefined,
    inputText: string,
    signal: AbortSignal,
  ): Promise<void> {
    const key = personOf(caller)?.userId ?? (caller.actor === 'Anonymous' ? address : undefined)
    if (key === undefined) return
    const exceeded = await this.#rates.takeWithRate('refused inputs', key, AT_ONCE)
    if (exceeded === undefined || inputText.length > MAX_HELD_LENGTH) return
    const held = this.#held.get(key) ?? 0
    const heldOfAll = [...this.#held.values()].reduce((sum, count) => sum + count, 0)
    if (held >= MAX_HELD.ofCaller || heldOfAll >= MAX_HELD.ofAll) return
    this.#held.set(key, held + 1)
    // An aborted wait is no error: its caller has left.
    await sleep(HELD_MS, undefined, { signal, ref: false }).catch(() => {})
    const left = this.#held.get(key)! - 1
    if (left > 0) this.#held.set(key, left)
    else this.#held.delete(key)
  }
}
