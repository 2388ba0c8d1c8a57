import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { MigrationError } from './migration-error.ts'

/** Key of the advisory lock under which one session copies all tables, or changes them. */
const KEY = "hashtext('muster.tables')"
/** Interval of attempts to take the lock, in milliseconds. */
const LOCK_POLL_MS = 100

/**
 * Keeps backups, moves and migrations of a database apart until the session ends or calls `unlockTables`. A migration that waited for the
 * table locks of a backup instead would make all other statements on these tables wait. The lock is polled, because a statement that waits
 * in the database would hold a snapshot, for which the build of an index waits. Must be called outside of a transaction. Throws
 * `MigrationError` after `timeoutMs`.
 */
export async function lockTables(client: pg.ClientBase, timeoutMs = Number.POSITIVE_INFINITY): Promise<void> {
  for (const startedAtMs = performance.now(); !(await tryLockTables(client)); ) {
    if (performance.now() - startedAtMs > timeoutMs)
      throw new MigrationError(
        'Found another command or a starting hub that works on all tables, expected none: try again when it has ended.',
      )
    await sleep(LOCK_POLL_MS)
  }
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
