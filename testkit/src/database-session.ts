import pg from 'pg'
import type { TestHub } from './test-hub.ts'
import { until } from './until.ts'

/** An extra session on a hub's database, for blocking the hub and for observing it. */
export type DatabaseSession = AsyncDisposable & {
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  /** Locks a table against all other statements until `release()` or the end of the session. */
  lock(table: string): Promise<void>
  release(): Promise<void>
  /** Resolves when `count` statements of other sessions wait for a lock. */
  waitingStatements(count: number): Promise<void>
  /** Number of statements of other sessions that wait for a lock. */
  waitingCount(): Promise<number>
  /** Terminates every other session on this database, as a restart of the server would, and waits for their ends. Returns their number. */
  terminateOthers(): Promise<number>
}

/** Opens a session on the hub's database. */
export async function databaseSession(hub: Pick<TestHub, 'pool'>): Promise<DatabaseSession> {
  const client = new pg.Client(hub.pool.options)
  client.on('error', () => {})
  await client.connect()
  const query: DatabaseSession['query'] = async (text, values) => (await client.query(text, values)).rows
  const waitingCount: DatabaseSession['waitingCount'] = async () => {
    // A look-up waits for 1 ms on its usual connection and then moves to another one. Only longer waits count.
    // Within a transaction PostgreSQL would return its first snapshot of the statistics again.
    await query('select pg_stat_clear_snapshot()')
    const waiting = await query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and clock_timestamp() - query_start > interval '20 ms'`,
    )
    return waiting.length
  }
  return {
    query,
    async lock(table) {
      await query('begin')
      await query(`lock table ${table} in access exclusive mode`)
    },
    release: async () => void (await query('rollback')),
    async waitingStatements(count) {
      await until(`${count} statements wait`, async () => (await waitingCount()) >= count)
    },
    waitingCount,
    async terminateOthers() {
      const ended = await query(
        `select pg_terminate_backend(pid, 25_000) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
      )
      return ended.length
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}
