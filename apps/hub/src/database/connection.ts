import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { CompiledQuery, Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import pg from 'pg'
import { RawJson } from '../raw-json.ts'
import { LookUps } from './look-ups.ts'
import type { Tables } from './schema.ts'
import { silence } from './silence.ts'

/** Reads. */
export type Db = Kysely<Tables>
/** Writes: only a transaction can be handed to what writes. */
export type Tx = Transaction<Tables>

export type Database = AsyncDisposable & {
  db: Db
  /** For hot paths, with named statements. */
  pool: pg.Pool
}

const JSON_OID = 114
const INT8_OID = 20

/** `json` keeps its text as it was written; bigint counters fit a number here. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === JSON_OID) return (text: string) => new RawJson(text)
    if (oid === INT8_OID) return Number
    return pg.types.getTypeParser(oid, format)
  },
} as pg.CustomTypesConfig

/** Most different statements that a connection keeps prepared; the hub has a few hundred, and lists of values make more. */
const MAX_PREPARED = 1000

const UNPREPARED = '/* planned by values */'
const UNHURRIED_TEXT = '/* however long it takes */'

/**
 * Stands at the end of a statement that is planned anew with its values each time: a list whose filter may fit all rows or one has
 * no plan that is good for both.
 */
export const PLANNED_BY_VALUES = sql.raw(UNPREPARED)

/** Stands at the end of a statement that may run for longer than all others, in a transaction that lifts their limit. */
export const UNHURRIED = sql.raw(UNHURRIED_TEXT)

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
class PreparingClient extends pg.Client {
  #plannedAtMs = performance.now()
  #isUnhurried = false

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
    // A text without values may hold several statements, which cannot be prepared.
    const isOne =
      typeof config === 'string' && Array.isArray(values) && values.length > 0 && !config.endsWith(UNPREPARED)
    const name = isOne ? preparedName(config) : undefined
    this.#isUnhurried = typeof config === 'string' && config.endsWith(UNHURRIED_TEXT)
    if (name) return super.query({ name, text: config, values }, callback)
    return super.query(config, values, callback)
  }

  /** Ends the connection once nothing passes over it for so long: the system would give it up a quarter of an hour later. */
  endWhenSilent(silentMs: number): void {
    const socket = this.connection.stream as Socket
    socket.setTimeout(silentMs).on('timeout', () => {
      if (!this.#isUnhurried) socket.destroy(silence(silentMs))
    })
  }
}

function preparedName(text: string): string | undefined {
  const isKnown = preparedNames.has(text)
  if (!isKnown && preparedNames.size >= MAX_PREPARED) return undefined
  const name =
    preparedNames.get(text) ??
    (isKnown ? `muster_${createHash('sha256').update(text).digest('hex').slice(0, 16)}` : undefined)
  preparedNames.set(text, name)
  return name
}

/** Connections of a hub at most, one of them for look-ups. */
const MAX_CONNECTIONS = 12
/** How long a connection is kept that nobody uses, in milliseconds. */
const IDLE_MS = 30_000
/**
 * How long what is under way may take when all connections are closed, in milliseconds; whoever closes them has waited before. A
 * statement that waits for a lock would hold up the end of the hub for half a minute.
 */
const CLOSE_MS = 1_000

/**
 * After this a statement is given up with its connection, in milliseconds: the server would have ended it before, so it does not hear
 * us any more.
 */
const SILENT_MS = 35_000

/** The hub's connections. Statements that run longer than 30 s are ended by the server, connections on which nothing comes by the hub. */
export function openDatabase(
  connection: pg.PoolConfig,
  onError: (error: Error) => void,
  silentMs = SILENT_MS,
): Database {
  const options: pg.ClientConfig = {
    ...connection,
    connectionTimeoutMillis: 10_000,
    statement_timeout: 30_000,
    // Asks whether the other end is there still, on connections on which nothing happens.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'muster',
    // What is read as text is taken apart.
    options: `${connection.options ?? ''} -c timezone=UTC -c datestyle=ISO`,
    types,
  }
  const pool = new pg.Pool({
    Client: PreparingClient,
    ...options,
    max: MAX_CONNECTIONS - 1,
    idleTimeoutMillis: IDLE_MS,
  })
  let isClosing = false
  const tell = (error: Error): void => {
    // A server that stops may end a connection before it has read its goodbye.
    if (!isClosing) onError(error)
  }
  // An idle connection that breaks must not end the process; the pool opens another.
  pool.on('error', tell)
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', client => {
    clients.add(client)
    ;(client as pg.PoolClient & PreparingClient).endWhenSilent(silentMs)
  })
  pool.on('remove', client => clients.delete(client))
  const lookUps = new LookUps(
    socket =>
      new PreparingClient({
        ...options,
        // What is looked up by key has one plan, whatever the values; the server would make up to five more at each discarding.
        options: `${options.options} -c plan_cache_mode=force_generic_plan`,
        pipeline: true,
        stream: () => socket,
      }),
    { idleMs: IDLE_MS, onError: tell },
  )
  const db = new HubKysely(pool, lookUps)
  const close = async (): Promise<void> => {
    isClosing = true
    // A server that has stopped to answer does not answer a goodbye either, and the process would live as long as the connection.
    setTimeout(() => {
      for (const client of clients) client.connection.stream.destroy()
    }, CLOSE_MS).unref()
    await db.destroy()
    // Kysely leaves a pool alone that it has not used itself.
    if (!pool.ending) await pool.end()
  }
  return { db, pool, [Symbol.asyncDispose]: close }
}

/** Kysely on the pool, with the connection for look-ups beside it. */
class HubKysely extends Kysely<Tables> {
  readonly lookUps: LookUps

  constructor(pool: pg.Pool, lookUps: LookUps) {
    super({ dialect: new PostgresDialect({ pool }) })
    this.lookUps = lookUps
  }

  override async destroy(): Promise<void> {
    await this.lookUps.end(CLOSE_MS)
    await super.destroy()
  }
}

/**
 * Looks a few rows up by key, for what runs at every request; the statement stands as text where it can, since building one costs
 * as much as sending it. Outside of a transaction it shares a connection, so it must be quick.
 */
export async function select<Row extends pg.QueryResultRow>(
  db: Db,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  if (db instanceof HubKysely) return db.lookUps.select<Row>(text, values)
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, values))
  return rows
}

/** The state that PostgreSQL gave an error, if it is one of its own. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Whether a statement failed because a row with its key is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** Whether a statement was ended because it and another waited for each other, so that it may be tried again. */
export function isDeadlock(error: unknown): boolean {
  return sqlState(error) === '40P01'
}

/** What PostgreSQL says. */
const UNAVAILABLE = /^(08|25006|53|55P03|57|58)/
/** What the system says of the way to it: that its name is unknown, too, while its container is started anew. */
const OUT_OF_REACH = /^E(CONN|NOENT|PIPE|TIMEDOUT|AI_AGAIN|NOTFOUND|HOST|NET|ADDRNOTAVAIL)/

/**
 * Whether an error means that the database could not be reached, went away, or cannot serve at the moment (no room, no
 * connection left, a lock held too long, a server that only reads), so that the same statement may be tried again.
 */
export function isConnectionError(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (typeof code === 'string' && (UNAVAILABLE.test(code) || OUT_OF_REACH.test(code))) return true
  // Whatever is in the way, such as too many open files.
  if (syscall === 'connect') return true
  return (
    error instanceof Error &&
    /Connection terminated|timeout (exceeded when trying to connect|expired)|Query read timeout|Client has encountered a connection error/.test(
      error.message,
    )
  )
}
