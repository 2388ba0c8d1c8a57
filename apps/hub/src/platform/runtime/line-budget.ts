const MINUTE_MS = 60_000

/** Limits the log lines of one kind to a number per minute, so that a flood does not fill the log. */
export class LineBudget {
  readonly #linesPerMinute: number
  #lines = 0
  #sinceMs = Number.NEGATIVE_INFINITY

  constructor(linesPerMinute: number) {
    this.#linesPerMinute = linesPerMinute
  }

  /** Returns whether a line may be logged now, and counts it. */
  take(): boolean {
    const nowMs = performance.now()
    if (nowMs - this.#sinceMs > MINUTE_MS) {
      this.#sinceMs = nowMs
      this.#lines = 0
    }
    return ++this.#lines <= this.#linesPerMinute
  }
}
