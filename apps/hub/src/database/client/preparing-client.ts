import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'
import { timeoutError } from './errors.ts'

/** Most different statements that a connection keeps prepared; the hub has a few hundred, and lists of values make more. */
const MAX_PREPARED = 1000

/** Options of a statement, read by `PreparingClient`. */
export type QueryOptions = {
  /** The server plans the statement for its values at each run. A filter that may match one row or all rows has no single good plan. */
  plan?: 'by values'
  /** The client waits for the answer without a limit. Only in a transaction that lifts the limit of the server. */
  timeout?: 'none'
}

type Statement = { text: string; values?: unknown[]; name?: string } & QueryOptions

/**
 * How long a connection keeps its plans, in milliseconds. One from when a table was small may read all of it once it has grown, and
 * the server itself notices that a minute later: a fleet that comes to an empty hub would slow down with each device.
 */
const PLANS_MS = 5_000

/** Texts that came once, and the names of those that came again; each connection prepares a named one at its first use. */
const preparedNames = new Map<string, string | undefined>()

/**
 * A connection that prepares what it is asked again and again: planning a short statement costs more than running it. The second
 * time a text comes it gets a name; texts beyond the bound run as they are.
 */
export class PreparingClient extends pg.Client {
  #plannedAtMs = performance.now()
  #hasTimeout = true

  constructor(config?: pg.ClientConfig) {
    super(config)
    // One that breaks between two statements of a transaction must not end the process: the next statement tells of it.
    this.on('error', () => {})
  }

  // biome-ignore lint/suspicious/noExplicitAny: the driver has many overloads, of which one matters here
  override query(config: any, values?: any, callback?: any): any {
    const nowMs = performance.now()
    if (nowMs - this.#plannedAtMs > PLANS_MS) {
      this.#plannedAtMs = nowMs
      // Fails in a transaction that has failed, and with the connection; either is told to the statement behind it.
      super.query('discard plans', () => {})
    }
    const statement: Statement = typeof config === 'string' ? { text: config, values } : config
    this.#hasTimeout = statement.timeout !== 'none'
    const name = statement.name === undefined ? preparedName(statement) : undefined
    if (name) return super.query({ ...statement, name }, callback)
    return super.query(config, values, callback)
  }

  /**
   * Sets what the hub relies on in this session, before any other statement. By SQL and not as options of the connection, because
   * poolers such as PgBouncer refuse or drop those.
   */
  async configure(settings: string): Promise<void> {
    try {
      await super.query(settings)
    } catch (error) {
      ;(this.connection.stream as Socket).destroy()
      throw error
    }
  }

  /** Ends the connection once nothing passes over it for so long: the system would give it up a quarter of an hour later. */
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
