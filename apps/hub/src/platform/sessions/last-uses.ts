import { every } from '@muster/concurrency'
import type { Logger } from '../runtime/log.ts'

/** Minimum time between two writes of the last use of the same key (id of a token or an account), in milliseconds. */
const REST_MS = 60_000
/** Interval at which uses are written, in milliseconds. The first use of a key appears in lists after at most this time. */
const SWEEP_MS = 1_000
/** Pause after a write that failed, in milliseconds, until its uses are written again. */
const RETRY_MS = 10_000
/** Limit of keys in memory. Uses of further keys are not recorded until there is room. */
const MAX_KEYS = 10_000

/**
 * SQL condition that the use `i` is stored in a column: neither this node nor another one has stored a use within the last minute. The use
 * of a node that comes later within the minute is dropped.
 */
export function isDue(column: string): string {
  return `(${column} is null or ${column} < least(i.at, now() - interval '${REST_MS} milliseconds'))`
}

/** `use` is the newest use that has not been written yet. */
type Entry<Use> = { use: Use | undefined; restsUntilMs: number }

type LastUsesOptions<Use> = {
  /** Name of the recorded uses in log messages, for example "uses of user tokens". */
  what: string
  /** Stores the uses for which `isDue` holds in one statement. */
  write: (uses: ({ key: string; at: Date } & Use)[]) => Promise<unknown>
  log: Logger
  restMs?: number
}

/**
 * Records the last use of tokens or accounts by their id. Uses are written in batches outside of the requests, at most once a minute for
 * each id. A batch that could not be written is written again.
 */
export class LastUses<Use extends object = object> implements AsyncDisposable {
  readonly #options: LastUsesOptions<Use>
  readonly #entries = new Map<string, Entry<{ at: Date } & Use>>()
  readonly #sweep: AsyncDisposable

  constructor(options: LastUsesOptions<Use>) {
    this.#options = options
    this.#sweep = every(SWEEP_MS, () => this.#write(performance.now()), this.#logFailure)
  }

  /** Records a use. Never waits and never throws. */
  add(key: string, details: Use): void {
    const use = { at: new Date(), ...details }
    const entry = this.#entries.get(key)
    if (entry) entry.use = use
    else if (this.#entries.size < MAX_KEYS) this.#entries.set(key, { use, restsUntilMs: 0 })
  }

  async #write(nowMs: number): Promise<void> {
    const { write, restMs = REST_MS } = this.#options
    const uses: ({ key: string; at: Date } & Use)[] = []
    for (const [key, entry] of this.#entries) {
      if (entry.restsUntilMs > nowMs) continue
      if (!entry.use) {
        this.#entries.delete(key)
        continue
      }
      uses.push({ key, ...entry.use })
      entry.use = undefined
      entry.restsUntilMs = nowMs + restMs
    }
    if (uses.length === 0) return
    try {
      await write(uses)
    } catch (error) {
      // Keeps the uses for a later write. Their keys stay in `#entries`, so `MAX_KEYS` also bounds the number of unwritten uses.
      for (const { key, ...use } of uses) {
        const entry = this.#entries.get(key)!
        entry.use ??= use as unknown as { at: Date } & Use
        entry.restsUntilMs = nowMs + Math.min(RETRY_MS, restMs)
      }
      throw error
    }
  }

  #logFailure = (error: unknown): void => {
    const { log, what } = this.#options
    log.warn({ err: error }, `last ${what} were not stored`)
  }

  /** Stops the periodic writes, then writes the remaining uses. A failure is logged and not thrown. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sweep[Symbol.asyncDispose]()
    await this.#write(Number.POSITIVE_INFINITY).catch(this.#logFailure)
  }
}
