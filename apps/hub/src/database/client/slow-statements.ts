import { LineBudget } from '../../runtime/line-budget.ts'
import type { Logger } from '../../runtime/log.ts'

/** Maximum number of lines that are logged per minute. A database under load would otherwise fill the log. */
const MAX_LINES = 10
/** Maximum length of a logged statement, in characters. Longer statements are cut. */
const MAX_LENGTH = 300

/** Counts slow statements and logs the first `MAX_LINES` of each minute, without their values. */
export class SlowStatements {
  readonly #log: Logger
  readonly #budget = new LineBudget(MAX_LINES)
  #count = 0
  #unlogged = 0

  constructor(log: Logger) {
    this.#log = log
  }

  /** Number of slow statements since the start. */
  get count(): number {
    return this.#count
  }

  /** Records a statement. */
  add(text: string, durationMs: number): void {
    this.#count++
    if (!this.#budget.take()) {
      this.#unlogged++
      return
    }
    const statement = text.trim().replace(/\s+/g, ' ').slice(0, MAX_LENGTH)
    this.#log.warn(
      {
        durationMs: Math.round(durationMs),
        statement,
        ...(this.#unlogged > 0 && { unlogged: this.#unlogged }),
      },
      'slow statement',
    )
    this.#unlogged = 0
  }
}
