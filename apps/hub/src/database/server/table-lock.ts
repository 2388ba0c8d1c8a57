import type pg from 'pg'

/** Key of the advisory lock under which one session copies all tables, or changes them. */
const KEY = "hashtext('muster.tables')"

/**
 * Keeps backups, moves and migrations of a database apart until the session ends or calls `unlockTables`. A migration that waited for the
 * table locks of a backup instead would make all other statements on these tables wait. Must be called outside of a transaction.
 */
export async function lockTables(client: pg.ClientBase): Promise<void> {
  await client.query(`select pg_advisory_lock(${KEY})`)
}

/** Like `lockTables`, but resolves to false if another session has the lock. */
export async function tryLockTables(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ isFree: boolean }>(`select pg_try_advisory_lock(${KEY}) as "isFree"`)
  return rows[0]!.isFree
}

/** Ends one call of `lockTables`. */
export async function unlockTables(client: pg.ClientBase): Promise<void> {
  await client.query(`select pg_advisory_unlock(${KEY})`)
}
