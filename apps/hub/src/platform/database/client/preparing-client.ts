import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'
import type { Tracer } from '../../runtime/tracer.ts'
import { markSocketError, timeoutError } from './errors.ts'

/** Options of a statement, read by `PreparingClient`. */
export type QueryOptions = {
  /**
   * `by values` makes the server plan the statement at each run, for its actual values. A filter that may match one row or all rows
   * has no good generic plan.
   */
  plan?: 'by values'
  /** `none` makes the client wait without a time limit. Use it only in a transaction that also lifts the server's `statement_timeout`. */
  timeout?: 'none'
}

/**
 * Comment in a statement whose generic plan is good whatever its values are. Such a statement is prepared among those planned `by values` too.
 * Only texts that the hub alone makes may have it, since each gets one of the names.
 */
const HAS_ONE_PLAN = '/* one plan */'

type Statement = { text: string; values?: unknown[]; name?: string } & QueryOptions

/**
 * Time that a connection keeps its plans, in milliseconds. A plan that was made for a small table may scan the whole table after it
 * has grown. PostgreSQL itself replans about a minute later; until then, a fleet that enrols at an empty hub would slow down with
 * each device.
 */
const PLANS_MS = 5_000

/**
 * Maximum number of statements that get a name, and of texts that are remembered after their first run. The hub has a few hundred
 * texts; statements with lists of values have another text for each length.
 */
const MAX_PREPARED = 1000

/** Names of prepared statements, shared by all connections of a hub. Each connection prepares a named statement at its first use. */
export class StatementNames {
  readonly #seenOnce = new Set<string>()
  readonly #names = new Map<string, string>()
  readonly #max: number

  /** `max` is the maximum number of names; with 0 no statement gets one. */
  constructor(max = MAX_PREPARED) {
    this.#max = max
  }

  /** Returns the name of a statement whose text is run for the second time or later, and undefined for other statements. */
  nameOf({ text, values, plan }: Statement): string | undefined {
    // A text without values may hold several statements, which cannot be prepared.
    if (!values?.length || (plan === 'by values' && !text.includes(HAS_ONE_PLAN))) return undefined
    const known = this.#names.get(text)
    if (known) return known
    if (this.#seenOnce.has(text)) {
      if (this.#names.size >= this.#max) return undefined
      this.#seenOnce.delete(text)
      const name = `muster_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
      this.#names.set(text, name)
      return name
    }
    this.#seenOnce.add(text)
    const [oldest] = this.#seenOnce
    if (this.#seenOnce.size > MAX_PREPARED) this.#seenOnce.delete(oldest!)
    return undefined
  }
}

/**
 * A client that prepares repeated statements, because planning a short statement costs more than running it. Statements that have
 * no name in `names` run unprepared.
 */
export class PreparingClient extends pg.Client {
  #plannedAtMs = performance.now()
  #hasTimeout = true
  readonly #names: StatementNames
  readonly #tracer: Pick<Tracer, 'statement'> | undefined
  #slow: { ms: number; report: (text: string, durationMs: number) => void } | undefined
  /** `lock_timeout` of the session as this class has set it, and the one for the next statement. */
  #lockMs = 0
  #nextLockMs = 0

  constructor(
    config: pg.ClientConfig & { names: StatementNames; tracer?: Pick<Tracer, 'statement'> | undefined },
  ) {
    super(config)
    this.#names = config.names
    this.#tracer = config.tracer
    // Without a listener, a connection that breaks between two statements of a transaction would end the process. With the
    // listener, the next statement fails instead.
    this.on('error', () => {})
    this.connection.on('error', markSocketError)
    // PostgreSQL closes the connection after a fatal error. The statement fails before the socket ends, and the pool would give the
    // connection to the next caller in between.
    this.connection.prependListener('errorMessage', ({ severity }: { severity?: string }) => {
      if (severity === 'FATAL') (this as unknown as { _queryable: boolean })._queryable = false
    })
  }

  // biome-ignore lint/suspicious/noExplicitAny: the driver has many overloads, of which one matters here
  override query(config: any, values?: any, callback?: any): any {
    const nowMs = performance.now()
    const settings: string[] = []
    if (nowMs - this.#plannedAtMs > PLANS_MS) {
      this.#plannedAtMs = nowMs
      settings.push('discard plans')
    }
    if (this.#lockMs !== this.#nextLockMs) {
      this.#lockMs = this.#nextLockMs
      settings.push(`set lock_timeout = ${this.#lockMs}`)
    }
    // An error is ignored: an aborted transaction or a broken connection also fails the caller's statement, which is sent next.
    if (settings.length > 0) super.query(settings.join('; '), () => {})
    const statement: Statement = typeof config === 'string' ? { text: config, values } : config
    this.#hasTimeout = statement.timeout !== 'none'
    const name = statement.name === undefined ? this.#names.nameOf(statement) : undefined
    const sent = name ? { ...statement, name } : config
    const sentValues = name ? undefined : values
    const endSpan = this.#tracer?.statement(statement.text)
    if (!this.#slow && !endSpan) return super.query(sent, sentValues, callback)
    const ended = (error?: Error): void => {
      endSpan?.(error)
      this.#reportSlow(statement.text, nowMs)
    }
    if (callback) {
      return super.query(sent, sentValues, (error: Error, result: pg.QueryResult) => {
        ended(error)
        callback(error, result)
      })
    }
    const answer = super.query(sent, sentValues)
    answer?.then(() => ended(), ended)
    return answer
  }

  /**
   * Lets the next statements wait for a lock for at most `ms` milliseconds, or without a limit for 0. Must not be called in a transaction.
   * The setting is sent with the next statement, and only if it changes.
   */
  limitLockWaits(ms: number): void {
    this.#nextLockMs = ms
  }

  /** Calls `report` with the text of each statement that takes `ms` milliseconds or longer. */
  watchSlow(ms: number, report: (text: string, durationMs: number) => void): void {
    this.#slow = { ms, report }
  }

  #reportSlow(text: string, startedAtMs: number): void {
    const durationMs = performance.now() - startedAtMs
    if (this.#slow && durationMs >= this.#slow.ms) this.#slow.report(text, durationMs)
  }

  /**
   * Applies the session's settings before any other statement; destroys the connection on failure. The settings are sent as SQL and
   * not as startup parameters of the connection, because poolers such as PgBouncer reject or drop startup parameters.
   */
  async configure(settings: string): Promise<void> {
    try {
      await super.query(settings)
    } catch (error) {
      ;(this.connection.stream as Socket).destroy()
      throw error
    }
  }

  /**
   * Destroys the connection after `silentMs` without traffic, unless its statement has no timeout. The operating system would
   * detect an unreachable server only after about 15 minutes.
   */
  closeWithoutTraffic(silentMs: number): void {
    const socket = this.connection.stream as Socket
    socket.setTimeout(silentMs).on('timeout', () => {
      if (this.#hasTimeout) socket.destroy(timeoutError(silentMs))
    })
  }
}
