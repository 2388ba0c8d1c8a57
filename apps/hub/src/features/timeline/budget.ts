import { type RawBuilder, sql } from 'kysely'
import { runBrief } from '../../platform/database/client/brief.ts'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { isCancelled } from '../../platform/database/client/errors.ts'

/** Maximum number of rows that one call reads to find the entries of a page. */
const MAX_ROWS = 20_000
/** Time, in milliseconds, after which a call reads no further rows. */
const MAX_MS = 1_000

/** Thrown to end a call whose budget of rows or time is spent. */
class BudgetSpent extends Error {}

/** Part of `Budget` that sources need to read their rows. */
export type Reader = Pick<Budget, 'rows' | 'read' | 'within'>

/** Rows and time that one call may spend. Statements that run through it are cancelled in PostgreSQL when the time is over. */
class Budget {
  readonly #tx: Tx
  readonly #endsAtMs = performance.now() + MAX_MS
  #rowsLeft = MAX_ROWS

  constructor(tx: Tx) {
    this.#tx = tx
  }

  /** Rows that may still be read, at most `wanted`. Throws `BudgetSpent` when none is left. */
  rows(wanted: number): number {
    if (this.#rowsLeft <= 0) throw new BudgetSpent()
    return Math.min(wanted, this.#rowsLeft)
  }

  /** Runs a statement and counts its rows. Throws `BudgetSpent` when the time is over before the statement ends. */
  async read<Row>(statement: RawBuilder<Row>): Promise<Row[]> {
    const { rows } = await this.within(tx => statement.execute(tx))
    this.#rowsLeft -= rows.length
    return rows
  }

  /** Runs statements without counting their rows. Throws `BudgetSpent` when the time is over before they end. */
  async within<Result>(run: (tx: Tx) => Promise<Result>): Promise<Result> {
    const leftMs = Math.ceil(this.#endsAtMs - performance.now())
    if (leftMs <= 0) throw new BudgetSpent()
    try {
      // PostgreSQL may cancel this statement too: the short timeout of the statement before it still applies.
      await sql`select set_config('statement_timeout', ${String(leftMs)}, true)`.execute(this.#tx)
      return await run(this.#tx)
    } catch (error) {
      throw isCancelled(error) ? new BudgetSpent() : error
    }
  }
}

/**
 * Runs `read` as a brief query with a new budget, and resolves to its result. PostgreSQL cancels the statement in flight when `signal`
 * aborts; the result then rejects with the reason of the signal.
 */
export async function withinBudget<Result>(
  db: Db,
  signal: AbortSignal,
  read: (budget: Reader) => Promise<Result>,
): Promise<Result> {
  const results: Result[] = []
  try {
    await runBrief(db, signal, async tx => void results.push(await read(new Budget(tx))))
  } catch (error) {
    // The transaction only reads, so its result is complete even if its end fails. A cancelled statement makes the commit a rollback,
    // which Kysely reports as an error, and the timeout of the last statement also applies to the commit.
    if (results.length === 0) throw error
  }
  signal.throwIfAborted()
  return results[0]!
}

/** Runs a reader until it ends or its budget is spent. Resolves to whether it has read to the end. */
export async function untilSpent(read: () => Promise<void>): Promise<boolean> {
  try {
    await read()
    return true
  } catch (error) {
    if (error instanceof BudgetSpent) return false
    throw error
  }
}
