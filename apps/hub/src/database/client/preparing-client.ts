import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'
import { timeoutError } from './errors.ts'

/** Limit of statement texts that are remembered for preparing. The hub has a few hundred; lists of values of any length add more. */
const MAX_PREPARED = 1000

/** Options of a statement, read by `PreparingClient`. */
export type QueryOptions = {
  /** `by values` makes the server plan the statement at each run. A filter that may match one row or all rows has no good single plan. */
  plan?: 'by values'
  /** `none` makes the client wait without a limit. Use it only in a transaction that also lifts the server's limit. */
  timeout?: 'none'
}

type Statement = { text: string; values?: unknown[]; name?: string } & QueryOptions

/**
 * Time that a connection keeps its plans, in milliseconds. A plan from when a table was small may scan the whole table after it has
 * grown. The server notices that about a minute later, so a fleet that enrols at an empty hub would slow down with each device.
 */
const PLANS_MS = 5_000

/** Statement name by text; undefined for a text that came only once. Each connection prepares a named statement at its first use. */
const preparedNames = new Map<string, string | undefined>()

/**
 * A client that prepares repeated statements, because planning a short statement costs more than running it. A text gets a name when it
 * comes the second time. Texts beyond `MAX_PREPARED` run unprepared.
 */
export class PreparingClient extends pg.Client {
  #plannedAtMs = performance.now()
  #hasTimeout = true

  constructor(config?: pg.ClientConfig) {
    super(config)
    // Without a listener, a break between two statements of a transaction would end the process. The next statement fails instead.
    this.on('error', () => {})
  }

  // biome-ignore lint/suspicious/noExplicitAny: the driver has many overloads, of which one matters here
  override query(config: any, values?: any, callback?: any): any {
    const nowMs = performance.now()
    if (nowMs - this.#plannedAtMs > PLANS_MS) {
      this.#plannedAtMs = nowMs
      // Its error is ignored: an aborted transaction or a broken connection also fails the statement behind it.
      super.query('discard plans', () => {})
    }
    const statement: Statement = typeof config === 'string' ? { text: config, values } : config
    this.#hasTimeout = statement.timeout !== 'none'
    const name = statement.name === undefined ? preparedName(statement) : undefined
    if (name) return super.query({ ...statement, name }, callback)
    return super.query(config, values, callback)
  }

  /**
   * Applies the session's settings, before any other statement; destroys the connection on failure. The settings are SQL and not
   * options of the connection, because poolers such as PgBouncer refuse or drop those.
   */
  async configure(settings: string): Promise<void> {
    try {
      await super.query(settings)
    } catch (error) {
      ;(this.connection.stream as Socket).destroy()
      throw error
    }
  }

  /** Destroys the connection after `silentMs` without traffic. The operating system would give it up only after about 15 minutes. */
  endWhenSilent(silentMs: number): void {
    const socket = this.connection.stream as Socket
    socket.setTimeout(silentMs).on('timeout', () => {
      if (this.#hasTimeout) socket.destroy(timeoutError(silentMs))
    })
  }
}

function preparedName({ text, values, plan }: Statement): string | undefined {
  // A text without values may hold several statements, which cannot be prepared.
  if (!values?.length || plan === 'by values') return undefined
  const isKnown = preparedNames.has(text)
  if (!isKnown && preparedNames.size >= MAX_PREPARED) return undefined
  const name =
    preparedNames.get(text) ??
    (isKnown ? `muster_${createHash('sha256').update(text).digest('hex').slice(0, 16)}` : undefined)
  preparedNames.set(text, name)
  return name
}
