import { sql } from 'kysely'
import { type Db, select, type Tx, withQueryOptions } from './connection.ts'
import { isCancelled } from './errors.ts'

/** Maximum duration, in milliseconds, of a brief query, from its first statement to its last. */
const BRIEF_MS = 2_000

/**
 * Runs statements that read many rows. PostgreSQL plans them for their actual values, and cancels the statement in flight when `signal`
 * aborts or the deadline has passed. Rejects with the reason of the signal after an abort, and with SQLSTATE 57014 after the deadline.
 */
export async function runBrief<Result>(
  db: Db,
  signal: AbortSignal,
  work: (tx: Tx) => Promise<Result>,
  deadlineMs = BRIEF_MS,
): Promise<Result> {
  signal.throwIfAborted()
  return (
    withQueryOptions(db, { plan: 'by values' })
      .transaction()
      .setAccessMode('read only')
      // All statements see the same rows, so that a device that changes between two of them is neither skipped nor found twice.
      .setIsolationLevel('repeatable read')
      .execute(async tx => {
        // The process id is read inside the transaction, because a pooler may give each transaction another process.
        // The deadline bounds the wait for a lock as well. Repeating the query after a shorter wait would only answer later.
        const lockTimeout = deadlineMs <= BRIEF_MS ? sql`, set_config('lock_timeout', '0', true)` : sql``
        const { rows } = await sql<{ pid: number }>`
        select pg_backend_pid() as pid, set_config('statement_timeout', ${String(deadlineMs)}, true)
               ${lockTimeout}`.execute(tx)
        let cancelling: Promise<unknown> | undefined
        const cancel = (): void => {
          // A look-up needs no connection of the pool, of which the caller may have its share.
          cancelling ??= select(db, 'select pg_cancel_backend($1::int)', [rows[0]!.pid]).catch(() => {})
        }
        const timer = setTimeout(cancel, deadlineMs)
        signal.addEventListener('abort', cancel, { once: true })
        if (signal.aborted) cancel()
        try {
          return await work(tx)
        } catch (error) {
          signal.throwIfAborted()
          throw error
        } finally {
          clearTimeout(timer)
          signal.removeEventListener('abort', cancel)
          // The connection returns to the pool only after the request to cancel has ended. Otherwise, this request could cancel the next
          // statement on the connection.
          await cancelling
        }
      })
  )
}

/** Like `runBrief`, but resolves to undefined after the deadline. */
export async function tryBrief<Result>(
  ...run: Parameters<typeof runBrief<Result>>
): Promise<Result | undefined> {
  try {
    return await runBrief(...run)
  } catch (error) {
    if (!isCancelled(error)) throw error
    return undefined
  }
}
