import { setTimeout as sleep } from 'node:timers/promises'
import { ActionError } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import type { Cause } from '../audit/events.ts'
import type { Tx } from '../database/client/connection.ts'
import { isCancelled, isConnectionError, isLockTimeout } from '../database/client/errors.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../pipeline/command-transaction.ts'
import { RECURRING } from './define-job.ts'

/** Maximum number of portions of one list before a run turns to the next list that is due. */
const PORTIONS_PER_TURN = 10
/** Poll interval, in milliseconds, while other nodes hold the rest of a list, and while a run waits for a list to become due. */
const PAUSE_MS = 100
/**
 * Maximum time, in milliseconds, that a run waits for the next list to become due. It exceeds the 10 s by which a bulk deletion is delayed,
 * so the job that is queued when the deletion is started also processes it.
 */
const SOON_MS = 15_000

/** Items of lists: how they are claimed, processed and stored. Results are maps by the positions of items. */
type DueRowsOptions<List, Item, Result> = CommandParts & {
  /** Whether `db` is the share of a caller. Its statements wait for locks only briefly, so an item that meets a lock is left to a job. */
  isShare?: boolean
  /** Table of the lists. A list is processed from the time in its column `due_at`. */
  table: string
  /** Column with the id of a list. */
  key: string
  /** Condition on the lists that have not ended. */
  isOpen: RawBuilder<boolean>
  /** Notes that a job begins to process a list. */
  begin: (id: string, jobId: string) => Promise<unknown>
  /** Reads a list before each of its portions. Resolves to undefined if the list has ended or must not go on. */
  read: (id: string, jobId: string | undefined) => Promise<List | undefined>
  /** Actor, scope and origin of what happens to the items of a list. */
  cause: (list: List) => Cause
  /** Maximum number of items of a portion. */
  portion: (list: List) => number
  /** Locks up to `limit` items that have no result, with `for update skip locked`. Resolves to undefined if the list has ended. */
  claim: (tx: Tx, list: List, limit: number) => Promise<readonly Item[] | undefined>
  /** Results of claimed items that end unprocessed, for example because their deadline has passed. */
  ended: (tx: Tx, list: List, items: readonly Item[]) => Promise<ReadonlyMap<number, Result>>
  /** Processes the other items with few statements. An item without a result fails, or it would be claimed again. */
  process: (
    transaction: CommandTransaction,
    list: List,
    items: readonly Item[],
  ) => Promise<ReadonlyMap<number, Result>>
  /** Stores results. */
  save: (tx: Tx, list: List, results: ReadonlyMap<number, Result>) => Promise<void>
  /** Result of an item whose transaction fails although it is the only item. */
  failed: Result
  /** Ends a list of which no item can be claimed, unless other nodes hold items. */
  complete: (list: List) => Promise<void>
}

/** Processes the items of lists. */
export type DueRows = {
  /** Processes due lists round-robin. Waits for lists that become due within `SOON_MS`, and ends when there are none. */
  runDue(signal: AbortSignal, jobId: string): Promise<void>
  /** Processes the next portion of a list. Resolves to false when the list has ended, or when other nodes hold its last items. */
  runPortion(id: string): Promise<boolean>
}

/** `idle` means that no item could be claimed, `ended` that the list must not go on, `alone` that items need transactions of their own. */
type Outcome = 'processed' | 'idle' | 'ended' | 'alone'

/**
 * Processes lists of items on any node. Each portion of a list is one transaction, which also stores the results of its items. Several nodes
 * may therefore process one list, and after a crash another process continues with the items that have no result.
 */
export function dueRows<List, Item extends { position: number }, Result>({
  db,
  live,
  jobs,
  isShare = false,
  log,
  table,
  key,
  isOpen,
  ...rows
}: DueRowsOptions<List, Item, Result>): DueRows {
  const parts: CommandParts = { db, live, jobs, log }

  /** Processes up to `limit` items in one transaction. Effects run only after the commit. */
  async function tryItems(id: string, list: List, limit: number): Promise<Outcome> {
    let items: readonly Item[] = []
    const portion = async (transaction: CommandTransaction): Promise<Outcome> => {
      const { tx } = transaction
      items = []
      const claimed = await rows.claim(tx, list, limit)
      if (!claimed) return 'ended'
      if (claimed.length === 0) return 'idle'
      items = claimed
      const results = new Map(await rows.ended(tx, list, items))
      const open = items.filter(({ position }) => !results.has(position))
      if (open.length > 0)
        for (const [position, result] of await rows.process(transaction, list, open))
          results.set(position, result)
      const missing = open.find(({ position }) => !results.has(position))
      if (missing) throw new Error(`Found no result for the item at position ${missing.position}`)
      await rows.save(tx, list, results)
      return 'processed'
    }
    try {
      return await commandTransaction(portion, rows.cause(list), parts)
    } catch (error) {
      // A statement that took too long, or waited for a lock, is due to an item: it is slow, or another transaction holds its rows.
      const isHeldUp = isCancelled(error) || (isLockTimeout(error) && !isShare)
      // A limit of the caller concerns no item. A job continues with the hub's own share.
      if ((isConnectionError(error) && !isHeldUp) || error instanceof ActionError) throw error
      const [item] = items
      if (!item) throw error
      // One item may hold up the others, by a lock or by its rows.
      if (limit > 1) return 'alone'
      const { position } = item
      log.error({ err: error, table, id, position }, 'an item of a list failed')
      await db.transaction().execute(tx => rows.save(tx, list, new Map([[position, rows.failed]])))
      return 'processed'
    }
  }

  async function runPortion(id: string, jobId?: string, signal?: AbortSignal): Promise<Outcome> {
    const list = await rows.read(id, jobId)
    if (list === undefined) return 'ended'
    const limit = rows.portion(list)
    let outcome = await tryItems(id, list, limit)
    if (outcome === 'alone')
      for (let count = 0; count < limit; count++) {
        signal?.throwIfAborted()
        outcome = await tryItems(id, list, 1)
        if (outcome !== 'processed') break
      }
    if (outcome === 'idle') await rows.complete(list)
    return outcome
  }

  async function runTurn(id: string, signal: AbortSignal, jobId: string): Promise<void> {
    await rows.begin(id, jobId)
    let outcome: Outcome = 'processed'
    for (let portion = 0; portion < PORTIONS_PER_TURN && outcome === 'processed'; portion++) {
      signal.throwIfAborted()
      outcome = await runPortion(id, jobId, signal)
    }
    // Runs take lists in the order of `due_at`, so this moves an open list to the end of the queue.
    await setDue(id, outcome === 'idle' ? PAUSE_MS / 1000 : 0)
  }

  const setDue = (id: string, inSecs: number) =>
    sql`update ${sql.table(table)} set due_at = now() + make_interval(secs => ${inSecs})
         where ${sql.ref(key)} = ${id} and ${isOpen}`.execute(db)

  return {
    async runDue(signal, jobId) {
      for (;;) {
        signal.throwIfAborted()
        const { rows: due } = await sql<{ id: string; in_ms: number }>`
          select ${sql.ref(key)} as id, extract(epoch from due_at - now())::float8 * 1000 as in_ms
            from ${sql.table(table)} where ${isOpen} order by due_at limit 1`.execute(db)
        const [next] = due
        if (!next || next.in_ms > SOON_MS) return
        if (next.in_ms > 0) {
          await sleep(Math.min(next.in_ms, PAUSE_MS), undefined, { signal })
          continue
        }
        try {
          await runTurn(next.id, signal, jobId)
        } catch (error) {
          // Lets other lists go first when the job is tried again, at which time the list is due.
          if (!signal.aborted) await setDue(next.id, RECURRING.retryDelaySecs).catch(() => {})
          throw error
        }
      }
    },
    runPortion: async id => (await runPortion(id)) === 'processed',
  }
}
