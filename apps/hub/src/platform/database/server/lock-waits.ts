import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from '../../runtime/log.ts'
import { isLockTimeout } from '../client/errors.ts'
import { MigrationError } from './migration-error.ts'
import { withClient } from './with-client.ts'

/** Times of the attempts of a migration to lock its tables, in milliseconds. */
export type LockTimes = {
  /**
   * Time for which the first attempt waits for a lock. All other statements on that table wait behind it. Each further attempt waits twice
   * as long, up to `maxWaitMs`, so that a table with steady long queries is locked at last.
   */
  waitMs: number
  maxWaitMs: number
  /** Time after the first attempt at which the migration fails. */
  deadlineMs: number
}

/** Times of a migration: all nodes wait behind it for at most 4 s, less than the 10 s for a connection of the pool. */
const LOCK_TIMES: LockTimes = { waitMs: 500, maxWaitMs: 4_000, deadlineMs: 10 * 60_000 }
/**
 * Factor of the waits of `create index concurrently`. Reads and writes do not wait behind it, but an attempt that gives up has to begin the
 * index anew.
 */
const INDEX_FACTOR = 30
/** Maximum interval of looks at the sessions that block a migration, in milliseconds. */
const MAX_LOOK_MS = 1_000
/** Length of the pause after an attempt, as a multiple of its wait. Other statements on the table run in this time. */
const PAUSES = 4
/** Maximum length of a blocking statement in errors and log lines, in characters. */
const STATEMENT_CHARS = 200
/** Maximum number of blocking sessions in errors and log lines. */
const MAX_BLOCKING = 3

/** Session that holds a lock, as operators read it. */
type Blocking = {
  process: number
  user: string | null
  program: string | null
  secs: number | null
  statement: string
}

/** Runs the parts of migrations with a lock timeout, and repeats a part that got no lock until a deadline. */
export class LockWaits {
  readonly #owner: pg.PoolConfig
  readonly #client: pg.Client
  readonly #log: Logger
  readonly #times: LockTimes

  /** `client` is the session that migrates. Blocking sessions are read over a connection of their own. */
  constructor(owner: pg.PoolConfig, client: pg.Client, log: Logger, times = LOCK_TIMES) {
    this.#owner = owner
    this.#client = client
    this.#log = log
    this.#times = times
  }

  /**
   * Runs a part of a migration, and again while it gets no lock. An open transaction is rolled back before each further attempt. Throws
   * `MigrationError` with the statements that hold the lock at the deadline. `isIndex` is true for an index that is built concurrently.
   */
  async run<Result>(
    migration: string,
    work: () => Promise<Result>,
    { isIndex = false }: { isIndex?: boolean } = {},
  ): Promise<Result> {
    const factor = isIndex ? INDEX_FACTOR : 1
    const startedAtMs = performance.now()
    let waitMs = this.#times.waitMs * factor
    for (;;) {
      await this.#client.query(`set lock_timeout = ${Math.ceil(waitMs)}`)
      const blocked = watchBlocking(this.#owner, await pidOf(this.#client), Math.min(waitMs / 2, MAX_LOOK_MS))
      try {
        return await work()
      } catch (error) {
        if (!isLockTimeout(error)) throw error
        // Outside of a transaction, PostgreSQL only warns about a rollback.
        await this.#client.query('rollback')
        const blockedBy = await blocked.found()
        const waitedMs = performance.now() - startedAtMs
        if (waitedMs > this.#times.deadlineMs) throw blockedError(migration, waitedMs, blockedBy, error)
        this.#log.warn({ migration, blockedBy }, 'a migration got no lock and is tried again')
        await sleep(isIndex ? this.#times.waitMs : waitMs * PAUSES)
        waitMs = Math.min(waitMs * 2, this.#times.maxWaitMs * factor)
      } finally {
        blocked.end()
      }
    }
  }
}

/**
 * Reads every `lookMs` which sessions block the session `pid`, over a connection of its own that is opened at the first look. A migration
 * that waits for no lock has ended by then.
 */
function watchBlocking(
  owner: pg.PoolConfig,
  pid: number,
  lookMs: number,
): { found(): Promise<Blocking[]>; end(): void } {
  const ended = new AbortController()
  let last: Blocking[] = []
  const look = async (): Promise<void> => {
    await sleep(lookMs, undefined, ended)
    await withClient({ ...owner, connectionTimeoutMillis: lookMs, query_timeout: lookMs }, async client => {
      for (;;) {
        const { rows } = await client.query<Blocking>(BLOCKING, [pid])
        if (rows.length > 0) last = rows
        await sleep(lookMs, undefined, ended)
      }
    })
  }
  // Without a connection for the looks, the migration is repeated as well, and reports no statement.
  const looking = look().catch(() => {})
  return {
    async found() {
      ended.abort()
      await looking
      return last
    },
    end: () => ended.abort(),
  }
}

/** Sessions that block another one. PostgreSQL hides statements of other users from a user without the role `pg_read_all_stats`. */
const BLOCKING = `
  select pid as process, usename as "user", nullif(application_name, '') as program,
         extract(epoch from now() - xact_start)::int as secs, left(query, ${STATEMENT_CHARS}) as statement
    from pg_stat_activity where pid = any(pg_blocking_pids($1)) order by xact_start limit ${MAX_BLOCKING}`

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

function blockedError(
  migration: string,
  waitedMs: number,
  blockedBy: Blocking[],
  cause: unknown,
): MigrationError {
  const sessions = blockedBy.map(
    ({ process, user, program, secs, statement }) =>
      `process ${process} (${[program, user].filter(Boolean).join(', ')}) for ${secs ?? 0} s with: ${statement}`,
  )
  const holder = sessions.length === 0 ? 'another session' : sessions.join('; ')
  return new MigrationError(
    `${migration} got no lock within ${Math.round(waitedMs / 1000)} s, which is held by ${holder}. Wait until that has ended, or end it, and start again.`,
    { cause },
  )
}
