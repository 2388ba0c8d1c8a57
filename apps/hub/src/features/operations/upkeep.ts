import { sql } from 'kysely'
import type pg from 'pg'
import { daysAgo, type RemoveOld } from '../../platform/jobs/define-job.ts'

/** Days for which ended operations are kept. */
const KEEP_DAYS = 400
/** Days for which changes of operations are kept. */
const KEEP_TRANSITIONS_DAYS = 90
/** Rows per delete statement, so that each takes far less than the statement timeout. */
const ROWS = 2_000

/** Removes operations that ended 400 days ago, and changes older than 90 days. */
export const removeOldOperations: RemoveOld = async ({ db }, { signal }) => {
  for (let removed = ROWS; removed > 0; ) {
    signal.throwIfAborted()
    const changes = await sql`
      delete from device_operation_transition where transition_id = any (array(
        select transition_id from device_operation_transition where at < ${daysAgo(KEEP_TRANSITIONS_DAYS)} limit ${ROWS}))`.execute(
      db,
    )
    const operations = await sql`
      delete from device_operation where operation_id = any (array(
        select operation_id from device_operation where completed_at < ${daysAgo(KEEP_DAYS)} limit ${ROWS}))`.execute(
      db,
    )
    // A definition is written in the transaction of its first operation, so one without operations is not about to be used.
    const definitions = await sql`
      delete from operation_definition where definition_id = any (array(
        select d.definition_id from operation_definition d
         where d.created_at < ${daysAgo(KEEP_DAYS)}
           and not exists (select from device_operation o where o.definition_id = d.definition_id) limit ${ROWS}))`.execute(
      db,
    )
    removed =
      Number(changes.numAffectedRows) +
      Number(operations.numAffectedRows) +
      Number(definitions.numAffectedRows)
  }
}

/**
 * Holds the running operations of a restored database, and makes their claims void: steps may have been done after the backup. People start
 * them again. A database of before operations has none. Resolves to the ids of the held operations.
 */
export async function holdAfterRestore(client: pg.ClientBase): Promise<string[]> {
  const { rows: tables } = await client.query(
    "select from pg_class where oid = to_regclass('device_operation')",
  )
  if (tables.length === 0) return []
  const { rows } = await client.query<{ id: string }>(
    `with held as (
       update device_operation
          set held_at = coalesce(held_at, now()), claim_id = null, claim_session = null, claimed_until = null,
              work_kind = null, is_awaiting = false, due_at = null, deadline_at = null
        where status = 'Running' returning operation_id),
     noted as (
       insert into device_operation_transition (operation_id, status, reason)
       select operation_id, 'Held', 'The hub was restored from a backup.' from held)
     select operation_id as id from held`,
  )
  return rows.map(({ id }) => id)
}
