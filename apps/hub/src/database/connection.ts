import { createHash } from 'node:crypto'
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { RawJson } from '../raw-json.ts'
import type { Tables } from './schema.ts'

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

/** Texts that came once, and the names of those that came again; each connection prepares a named one at its first use. */
const preparedNames = new Map<string, string | undefined>()

/**
 * A connection that prepares what it is asked again and again: planning a short statement costs more than running it. The second
 * time a text comes it gets a name; texts beyond the bound run as they are.
 */
class PreparingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the driver has many overloads, of which one matters here
  override query(config: any, values?: any, callback?: any): any {
    // A text without values may hold several statements, which cannot be prepared.
    const isOne = typeof config === 'string' && Array.isArray(values) && values.length > 0
    const name = isOne ? preparedName(config) : undefined
    return name
      ? super.query({ name, text: config, values }, callback)
      : super.query(config, values, callback)
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

/** The hub's connections. Statements that run longer than 30 s are ended by the server. */
export function openDatabase(connection: pg.PoolConfig, onError: (error: Error) => void): Database {
  const pool = new pg.Pool({
    Client: PreparingClient,
    ...connection,
    max: 12,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 10_000,
    statement_timeout: 30_000,
    application_name: 'muster',
    options: '-c timezone=UTC',
    types,
  })
  // An idle connection that breaks must not end the process; the pool opens another.
  pool.on('error', onError)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return { db, pool, [Symbol.asyncDispose]: () => db.destroy() }
}

/** Runs a statement that stands as text, for what runs at every request: building one costs as much as sending it. */
export async function select<Row>(db: Db, text: string, values: readonly unknown[]): Promise<Row[]> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))
  return rows
}

/**
 * Whether an error means that the database could not be reached, went away, or cannot serve at the moment (no room, no
 * connection left, a lock held too long, a server that only reads), so that the same statement may be tried again.
 */
export function isConnectionError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code === 'string' && /^(08|25006|53|55P03|57|58|ECONN|ENOENT|EPIPE|ETIMEDOUT)/.test(code))
    return true
  return (
    error instanceof Error &&
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      error.message,
    )
  )
}
