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
import { POOL_CONNECTIONS } from '../../limits/limits.ts'
import type { Measures } from '../../runtime/measures.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import type { Tables } from '../schema.ts'
import { LOOK_UP_LOCK_MS, LookUps } from './look-ups.ts'
import { PreparingClient, type QueryOptions, StatementNames } from './preparing-client.ts'

/** Database, or a transaction in it. Functions that only read, or that write with a single statement, take a `Db`. */
export type Db = Kysely<Tables>
/** Transaction. A function whose writes must be committed together with those of its caller takes a `Tx`. */
export type Tx = Transaction<Tables>

type DatabaseOptions = {
  /** Time without traffic after which connections of the pool are destroyed, in milliseconds; 35 s by default. */
  silentMs?: number
  measures?: Measures | undefined
  tracer?: Pick<Tracer, 'statement'> | undefined
  /** Called with the text of each statement that took `SLOW_MS` or longer on a connection of the pool. */
  onSlow?: (text: string, durationMs: number) => void
}

export type Database = AsyncDisposable & {
  db: Db
  /** Pool of connections for hot paths, which run named statements on it without Kysely. */
  pool: pg.Pool
  /**
   * Database of the heartbeats of a node, with a connection of its own: a node whose pool is exhausted stays alive. Its statements wait for
   * a lock for at most 5 s, an interval of heartbeats.
   */
  heartbeat: Db
  /** Connection of the job queue, so that jobs are fetched, ended and queued while the pool is exhausted. */
  jobQueue: pg.Pool
}

const JSON_OID = 114
const INT8_OID = 20

/** Parses `json` into `RawJson`, which keeps the text, and `bigint` into a number: the hub's counters stay below 2^53. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === JSON_OID) return (text: string) => new RawJson(text)
    if (oid === INT8_OID) return Number
    return pg.types.getTypeParser(oid, format)
  },
} as pg.CustomTypesConfig

/** Time for which statements of heartbeats wait for a lock, in milliseconds. */
const HEARTBEAT_LOCK_MS = 5_000
/** Time after which an unused connection is closed, in milliseconds. */
const IDLE_MS = 30_000
/**
 * Time that statements in flight get when the connections are closed, in milliseconds. By then the hub has already waited for its
 * own work. Without this limit, a statement that waits for a lock would delay the exit by up to 30 s.
 */
const CLOSE_MS = 1_000

/** Time after which the server cancels a statement, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000

/**
 * Time without traffic after which a connection is destroyed and its statement fails, in milliseconds. A reachable server would
 * have cancelled the statement after `STATEMENT_TIMEOUT_MS`, so the server is unreachable.
 */
const SILENT_MS = 35_000

/** Duration from which a statement counts as slow, in milliseconds. */
const SLOW_MS = 1_000

/** Settings of every session. The hub parses times that it reads as text, so the time zone and the date style must not vary. */
const SETTINGS = `set timezone = 'UTC'; set datestyle = 'ISO'; set statement_timeout = ${STATEMENT_TIMEOUT_MS}`

/**
 * Opens the hub's connections: a pool, and connections of their own for look-ups by key, for heartbeats and for the job queue, which an
 * exhausted pool does not hold up. All are opened at their first use. The server cancels statements after 30 s. The hub destroys
 * connections of the pools that are silent for `silentMs`.
 */
export function openDatabase(
  connection: pg.PoolConfig,
  onError: (error: Error) => void,
  { silentMs = SILENT_MS, measures, tracer, onSlow }: DatabaseOptions = {},
): Database {
  const options = {
    ...connection,
    names: new StatementNames(),
    tracer,
    connectionTimeoutMillis: 10_000,
    // TCP keep-alive finds a peer that vanished while the connection was idle.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'muster',
    types,
  }
  let isClosing = false
  const report = (error: Error): void => {
    // Ignores errors while closing: a server that shuts down may reset a connection before it reads the Terminate message.
    if (!isClosing) onError(error)
  }
  const clients = new Set<pg.PoolClient>()
  const openPool = (max: number, settings = SETTINGS): pg.Pool => {
    const pool = new pg.Pool({
      // The pool passes its options to the constructor of its clients, but its type allows only constructors without parameters.
      Client: PreparingClient as unknown as typeof pg.Client,
      ...options,
      // pg-pool awaits the promise that `onConnect` returns, although its type ignores the result. Hence the cast.
      onConnect: (client => (client as PreparingClient).configure(settings)) as pg.PoolConfig['onConnect'],
      max,
      idleTimeoutMillis: IDLE_MS,
    })
    // Without a listener, an idle connection that breaks would end the process. The pool opens another connection when necessary.
    pool.on('error', report)
    pool.on('connect', client => {
      clients.add(client)
      const preparing = client as pg.PoolClient & PreparingClient
      preparing.closeWithoutTraffic(silentMs)
      if (onSlow) preparing.watchSlow(SLOW_MS, onSlow)
    })
    // The user before may have limited the waits for locks.
    pool.on('acquire', client => limitLockWaits(client, 0))
    pool.on('remove', client => clients.delete(client))
    return pool
  }
  const pool = openPool(POOL_CONNECTIONS)
  const heartbeats = openPool(1, `${SETTINGS}; set lock_timeout = ${HEARTBEAT_LOCK_MS}`)
  const jobQueue = openPool(1)
  const lookUps = new LookUps(
    (socket, lane) => {
      // A statement that fails while it is prepared fails all those of its name that were sent behind it. So look-ups that wait for a
      // lock have no names.
      const names = lane === 'usual' ? options.names : new StatementNames(0)
      const client = new PreparingClient({ ...options, names, pipeline: true, stream: () => socket })
      // Look-ups by key need a generic plan. By default PostgreSQL plans a prepared statement for its actual values five times
      // before it considers a generic plan. If `configure` fails, it destroys the connection, which also rejects the look-ups
      // queued on it.
      client.once('connect', () => {
        client
          .configure(
            `${SETTINGS}; set plan_cache_mode = force_generic_plan; set lock_timeout = ${LOOK_UP_LOCK_MS[lane]}`,
          )
          .catch(() => {})
      })
      return client
    },
    { idleMs: IDLE_MS, onError: report, measures },
  )
  const db = new HubKysely(pool, lookUps)
  const close = async (): Promise<void> => {
    isClosing = true
    // A server that hangs does not react to the Terminate message. Its connections would stay open and keep this process alive, so they
    // are destroyed.
    setTimeout(() => {
      for (const client of clients) client.connection.stream.destroy()
    }, CLOSE_MS).unref()
    await db.destroy()
    // Kysely ends the pool only if it has run a statement.
    await Promise.all([pool.ending || pool.end(), heartbeats.end(), jobQueue.end()])
  }
  const heartbeat = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: heartbeats }) })
  return { db, pool, heartbeat, jobQueue, [Symbol.asyncDispose]: close }
}

/**
 * `enter` waits until a caller may hold one more connection of the pool, and resolves to the permit. Statements wait for a lock for at most
 * `lockMs` milliseconds, then fail.
 */
type PermitOptions = { enter: () => Promise<{ release(): void }>; lockMs: number }

/** Kysely on the pool, together with the shared connection for look-ups. */
class HubKysely extends Kysely<Tables> {
  readonly lookUps: LookUps
  readonly #pool: PostgresPool

  constructor(pool: PostgresPool, lookUps: LookUps) {
    super({ dialect: new PostgresDialect({ pool }) })
    this.lookUps = lookUps
    this.#pool = pool
  }

  withOptions(options: QueryOptions): Db {
    return new Kysely<Tables>({
      dialect: new PostgresDialect({ pool: poolWithOptions(this.#pool, options) }),
    })
  }

  withPermits(options: PermitOptions): HubKysely {
    return new HubKysely(poolWithPermits(this.#pool, options), this.lookUps)
  }

  override async destroy(): Promise<void> {
    await this.lookUps.end(CLOSE_MS)
    await super.destroy()
  }
}

/**
 * Looks up a few rows by key, for statements that run in every request. Takes SQL text, because building a statement with Kysely
 * costs as much as sending it. Outside of a transaction all callers share one connection, so the statement must be fast.
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
function poolWithOptions(pool: PostgresPool, options: QueryOptions): PostgresPool {
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect()
      return {
        query: (text: string, values: unknown[]) => client.query({ text, values, ...options } as never),
        release: (isBroken?: boolean) => client.release(isBroken),
      } as unknown as PostgresPoolClient
    },
    end: async () => {},
  }
}

/** A client of a pool, with the permit of its current user. */
class PermittedClient {
  readonly #client: PostgresPoolClient
  readonly query: PostgresPoolClient['query']
  permit: { release(): void } | undefined

  constructor(client: PostgresPoolClient) {
    this.#client = client
    this.query = client.query.bind(client)
  }

  release(isBroken?: boolean): void {
    const { permit } = this
    this.permit = undefined
    this.#client.release(isBroken as never)
    permit?.release()
  }
}

/**
 * Takes a permit for each connection of a pool, for as long as the connection is used. Each client is wrapped only once, because Kysely
 * keeps data about each client that it gets.
 */
function poolWithPermits(pool: PostgresPool, { enter, lockMs }: PermitOptions): PostgresPool {
  const wrapped = new WeakMap<PostgresPoolClient, PermittedClient>()
  return {
    options: pool.options,
    async connect() {
      const permit = await enter()
      try {
        const client = await pool.connect()
        const own = wrapped.get(client) ?? new PermittedClient(client)
        wrapped.set(client, own)
        own.permit = permit
        limitLockWaits(client, lockMs)
        return own as unknown as PostgresPoolClient
      } catch (error) {
        permit.release()
        throw error
      }
    },
    end: async () => {},
  }
}

/** Limits the waits for locks of a client of the pool, whose type does not know this method. */
function limitLockWaits(client: object, ms: number): void {
  ;(client as PreparingClient).limitLockWaits(ms)
}

/**
 * Returns the database with a permit for each connection of the pool that its statements and transactions use, and with a limit of their
 * waits for locks.
 */
export function withPermits(db: Db, options: PermitOptions): Db {
  if (db instanceof HubKysely) return db.withPermits(options)
  throw new Error('Permits were given to a transaction, expected the database outside of it.')
}

/**
 * Returns the database with options for all its statements, including the statements of its transactions. Throws for a
 * transaction.
 */
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
