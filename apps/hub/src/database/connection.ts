import { Kysely, PostgresDialect, type Transaction } from 'kysely'
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

/** The hub's connections. Statements that run longer than 30 s are ended by the server. */
export function openDatabase(connection: pg.PoolConfig, onError: (error: Error) => void): Database {
  const pool = new pg.Pool({
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
