/** Default time, in milliseconds, for which results are cached. */
const KEPT_MS = 2_000
/** Maximum number of cached results in one `KeptAnswers`. */
const MAX_KEPT = 500

/**
 * Cache for the results of expensive queries. Each owner has its own: callers share the results if the owner is the services of the hub, and
 * each caller has their own if it is the caller's database.
 */
export class KeptAnswers<Answer> {
  readonly #keptMs: number
  readonly #byOwner = new WeakMap<object, Map<string, { answer: Answer; untilMs: number }>>()

  constructor(keptMs = KEPT_MS) {
    this.#keptMs = keptMs
  }

  /** The cached result of a query; undefined if there is none. `question` identifies the query. */
  find(owner: object, question: string): Answer | undefined {
    const kept = this.#byOwner.get(owner)?.get(question)
    return kept && kept.untilMs > performance.now() ? kept.answer : undefined
  }

  /** Caches a result and removes expired results. */
  keep(owner: object, question: string, answer: Answer): void {
    const all = this.#byOwner.get(owner) ?? new Map<string, { answer: Answer; untilMs: number }>()
    this.#byOwner.set(owner, all)
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
