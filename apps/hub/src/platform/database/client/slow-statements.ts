import { LineBudget } from '../../runtime/line-budget.ts'
import type { Logger } from '../../runtime/log.ts'

/** Maximum number of lines that are logged per minute. A database under load would otherwise fill the log. */
const MAX_LINES = 10
/** Maximum length of a statement in logs and traces, in characters. Longer statements are cut. */
const MAX_LENGTH = 300

/** Text of a statement on one line, cut to 300 characters. Its values are not part of the text. */
export function shortStatement(text: string): string {
  return text.trim().replace(/\s+/g, ' ').slice(0, MAX_LENGTH)
}

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
    this.#log.warn(
      {
        durationMs: Math.round(durationMs),
        statement: shortStatement(text),
        ...(this.#unlogged > 0 && { unlogged: this.#unlogged }),
      },
      'slow statement',
    )
    this.#unlogged = 0
  }
}
