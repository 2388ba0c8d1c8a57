import type { Logger } from '../../runtime/log.ts'
import { isOutage } from '../client/errors.ts'

/** Interval of lines during an outage, in milliseconds. */
const LINE_MS = 60_000
/** Heartbeats in a row that must be stored without an error between them before the outage counts as over. */
const ANSWERS = 2

const LEVELS = ['warn', 'error'] as const

/**
 * Log of a hub that counts errors of an unavailable database instead of writing each of them: one line when they begin, one a minute, and
 * one when they have ended, each with the number of errors by message. Without it a node writes about two lines with stack traces a second.
 * Other errors are written as usual.
 */
export class OutageLog implements Disposable {
  /** The log to pass to the parts of the hub. */
  readonly log: Logger
  readonly #plain: Logger
  readonly #lineMs: number
  readonly #errors = new Map<string, number>()
  #beganAtMs = 0
  #lastAtMs = 0
  #answers = 0
  #timer: NodeJS.Timeout | undefined

  constructor(plain: Logger, lineMs = LINE_MS) {
    this.#plain = plain
    this.#lineMs = lineMs
    this.log = Object.create(plain) as Logger
    for (const level of LEVELS)
      this.log[level] = (...args: unknown[]): void => {
        const [fields, message] = args as [{ err?: unknown } | string, string?]
        const error = typeof fields === 'object' ? fields?.err : undefined
        if (error !== undefined && isOutage(error)) this.#count(message ?? '', error)
        else (plain[level] as (...args: unknown[]) => void)(...args)
      }
  }

  /** Records that a heartbeat was stored. */
  answered(): void {
    if (this.#timer === undefined) return
    this.#answers++
    if (this.#answers < ANSWERS) return
    this.#write('the database works again')
    this.#end()
  }

  #count(message: string, error: unknown): void {
    this.#answers = 0
    this.#lastAtMs = performance.now()
    this.#errors.set(message, (this.#errors.get(message) ?? 0) + 1)
    if (this.#timer !== undefined) return
    this.#beganAtMs = this.#lastAtMs
    this.#timer = setInterval(() => this.#write('the database is still unavailable'), this.#lineMs).unref()
    const { message: problem, code } = error as NodeJS.ErrnoException
    this.#write('the database is unavailable or broke a connection; further errors are counted', {
      problem,
      code,
    })
  }

  #write(message: string, fields: object = {}): void {
    const secs = Math.round((this.#lastAtMs - this.#beganAtMs) / 1000)
    this.#plain.warn({ ...fields, secs, errors: Object.fromEntries(this.#errors) }, message)
  }

  #end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#errors.clear()
    this.#answers = 0
  }

  /** Writes the counts of an outage in which the hub stops. */
  [Symbol.dispose](): void {
    if (this.#timer !== undefined) this.#write('the hub stops while the database is unavailable')
    this.#end()
  }
}
