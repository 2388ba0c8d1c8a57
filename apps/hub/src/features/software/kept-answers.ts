import type { Db } from '../../platform/database/client/connection.ts'

/** Default time, in milliseconds, for which results are cached. */
const KEPT_MS = 2_000
/** Maximum number of cached results in one `KeptAnswers`. */
const MAX_KEPT = 500

/** Cache for the results of expensive queries, so that consoles share them. Each database has its own cache. */
export class KeptAnswers<Answer> {
  readonly #keptMs: number
  readonly #byDb = new WeakMap<Db, Map<string, { answer: Answer; untilMs: number }>>()

  constructor(keptMs = KEPT_MS) {
    this.#keptMs = keptMs
  }

  /** The cached result of a query; undefined if there is none. `question` identifies the query. */
  find(db: Db, question: string): Answer | undefined {
    const kept = this.#byDb.get(db)?.get(question)
    return kept && kept.untilMs > performance.now() ? kept.answer : undefined
  }

  /** Caches a result and removes expired results. */
  keep(db: Db, question: string, answer: Answer): void {
    const all = this.#byDb.get(db) ?? new Map<string, { answer: Answer; untilMs: number }>()
    this.#byDb.set(db, all)
    const nowMs = performance.now()
    all.delete(question)
    // A map iterates in the order of insertion, which is the order of expiry. So the loop may stop at the first unexpired result.
    for (const [key, { untilMs }] of all) {
      if (untilMs > nowMs && all.size < MAX_KEPT) break
      all.delete(key)
    }
    all.set(question, { answer, untilMs: nowMs + this.#keptMs })
  }
}
