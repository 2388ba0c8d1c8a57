import { RawJson } from '@muster/actions/exact-json'
import {
  CompiledQuery,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  sql,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import type { Tables } from '../schema.ts'
import { LookUps } from './look-ups.ts'
import { PreparingClient, type QueryOptions } from './preparing-client.ts'

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

/** Of every session: what is read as text is taken apart, and no statement runs for longer than 30 s. */
const SETTINGS = "set timezone = 'UTC'; set datestyle = 'ISO'; set statement_timeout = '30s'"

/** The hub's connections. Statements that run longer than 30 s are ended by the server, connections on which nothing comes by the hub. */
export function openDatabase(
  connection: pg.PoolConfig,
  onError: (error: Error) => void,
  silentMs = SILENT_MS,
): Database {
  const options: pg.ClientConfig = {
    ...connection,
    connectionTimeoutMillis: 10_000,
    // Asks whether the other end is there still, on connections on which nothing happens.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'muster',
    types,
  }
  const pool = new pg.Pool({
    Client: PreparingClient,
    ...options,
    // The pool waits for it, whatever its type says.
    onConnect: (client => (client as PreparingClient).configure(SETTINGS)) as pg.PoolConfig['onConnect'],
    max: MAX_CONNECTIONS - 1,
    idleTimeoutMillis: IDLE_MS,
  })
  let isClosing = false
  const report = (error: Error): void => {
    // A server that stops may end a connection before it has read its goodbye.
    if (!isClosing) onError(error)
  }
  // An idle connection that breaks must not end the process; the pool opens another.
  pool.on('error', report)
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', client => {
    clients.add(client)
    ;(client as pg.PoolClient & PreparingClient).endWhenSilent(silentMs)
  })
  pool.on('remove', client => clients.delete(client))
  const lookUps = new LookUps(
    socket => {
      const client = new PreparingClient({ ...options, pipeline: true, stream: () => socket })
      // What is looked up by key has one plan, whatever the values; the server would make up to five more at each discarding.
      // One that fails has ended the connection, and with it the look-ups behind it.
      client.once('connect', () => {
        client.configure(`${SETTINGS}; set plan_cache_mode = force_generic_plan`).catch(() => {})
      })
      return client
    },
    { idleMs: IDLE_MS, onError: report },
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
  readonly #pool: pg.Pool

  constructor(pool: pg.Pool, lookUps: LookUps) {
    super({ dialect: new PostgresDialect({ pool }) })
    this.lookUps = lookUps
    this.#pool = pool
  }

  withOptions(options: QueryOptions): Db {
    return new Kysely<Tables>({
      dialect: new PostgresDialect({ pool: poolWithOptions(this.#pool, options) }),
    })
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

/** Adds options to every statement that runs on the clients of a pool. */
function poolWithOptions(pool: pg.Pool, options: QueryOptions): PostgresPool {
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect()
      return {
        query: (text: string, values: unknown[]) => client.query({ text, values, ...options }),
        release: (isBroken?: boolean) => client.release(isBroken),
      } as unknown as PostgresPoolClient
    },
    end: async () => {},
  }
}

/** The same database; all statements that run on the result have these options, those of its transactions too. */
export function withQueryOptions(db: Db, options: QueryOptions): Db {
  if (db instanceof HubKysely) return db.withOptions(options)
  throw new Error('Query options were given to a transaction, expected the database outside of it.')
}

/** Runs a transaction whose statements have no time limit, neither in the server nor in the client. */
export function unlimitedTransaction<Result>(db: Db, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return withQueryOptions(db, { timeout: 'none' })
    .transaction()
    .execute(async tx => {
      await sql`set local statement_timeout = 0`.execute(tx)
      return work(tx)
    })
}
