import { sql } from 'kysely'
import { SYSTEM } from '../../pipeline/caller.ts'
import type { CommandParts } from '../../pipeline/command-transaction.ts'
import { createLog } from '../../runtime/log.ts'
import { type DueRows, dueRows } from '../due-rows.ts'

type Item = { position: number; isLate: boolean }

/** Tables of lists for tests. An item with a deadline in the past ends as `DeadlinePassed`. */
export const TEST_TABLES = `
  create table test_list (list_id text primary key, due_at timestamptz not null default now(), has_ended boolean not null default false);
  create table test_item (list_id text, position integer, deadline_at timestamptz, outcome text)`

/**
 * Processes the lists of `TEST_TABLES` in portions of 5 items, which `process` gets by their positions. An item whose position it removes
 * from the array gets no result.
 */
export function testLists(
  parts: Omit<CommandParts, 'log'>,
  process: (positions: number[]) => Promise<void>,
): DueRows {
  return dueRows<string, Item, string>({
    ...parts,
    log: createLog('silent'),
    table: 'test_list',
    key: 'list_id',
    isOpen: sql`not has_ended`,
    begin: async () => {},
    read: async id => id,
    cause: () => ({ caller: SYSTEM, scope: {} }),
    portion: () => 5,
    async claim(tx, id, limit) {
      const { rows } = await sql<Item>`
        select position, coalesce(deadline_at < now(), false) as "isLate" from test_item
         where list_id = ${id} and outcome is null order by position limit ${limit} for update skip locked`.execute(
        tx,
      )
      return rows
    },
    ended: async (_tx, _id, items) =>
      new Map(items.filter(({ isLate }) => isLate).map(({ position }) => [position, 'DeadlinePassed'])),
    async process(_transaction, _id, items) {
      const positions = items.map(({ position }) => position)
      await process(positions)
      return new Map(positions.map(position => [position, 'Done']))
    },
    async save(tx, id, results) {
      for (const [position, outcome] of results)
        await sql`update test_item set outcome = ${outcome} where list_id = ${id} and position = ${position}`.execute(
          tx,
        )
    },
    failed: 'Failed',
    async complete(id) {
      await sql`update test_list set has_ended = true
         where list_id = ${id} and not exists (select from test_item where list_id = ${id} and outcome is null)`.execute(
        parts.db,
      )
    },
  })
}
