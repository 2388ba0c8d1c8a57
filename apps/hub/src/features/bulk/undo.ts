import { ActionError, BULK_CHANGE_UNDO_SECS } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../platform/access/authorize.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { Caller } from '../../platform/pipeline/caller.ts'
import { createChange } from './change-preview.ts'
import { isChange } from './kinds.ts'

/** Seconds for which the bulk action `b` can still be undone; 0 or less if it cannot. */
const UNDO_SECS = sql<
  number | null
>`ceil(extract(epoch from b.ended_at - now()) + ${BULK_CHANGE_UNDO_SECS})::integer`

/**
 * Prepares the undo of a bulk action that has changed labels or names: each device that it has changed gets the values from before, unless
 * they were changed since. Resolves to the id of the new bulk action. Throws `Forbidden` for an absent bulk action, and `Invalid` (409) for
 * one that cannot be undone: another kind, one that runs, has changed nothing, ended more than 10 min ago or was undone.
 */
export async function prepareUndo(
  tx: Tx,
  caller: Caller,
  projectId: string,
  bulkActionId: string,
): Promise<string> {
  const found = await tx
    .selectFrom('bulk_action as b')
    .where('b.bulk_action_id', '=', bulkActionId)
    .where('b.project_id', '=', projectId)
    .select(['b.kind', 'b.status', 'b.succeeded_count', 'b.undone_by', UNDO_SECS.as('undo_secs')])
    .forUpdate()
    .executeTakeFirst()
  if (!found) throw refusal()
  if (!isChange(found.kind)) throw cannotUndo('Only changes of labels and names can be undone.')
  if (found.status === 'Prepared') throw cannotUndo('This bulk action was not started.')
  if (['Waiting', 'Running'].includes(found.status))
    throw cannotUndo('This bulk action still runs. Wait for its end, or cancel it first.')
  if (found.succeeded_count === 0) throw cannotUndo('This bulk action has changed nothing.')
  if ((found.undo_secs ?? 0) <= 0)
    throw cannotUndo(
      `This bulk action ended more than ${BULK_CHANGE_UNDO_SECS / 60} min ago. Set the values by another one.`,
    )
  if (found.undone_by !== null && (await hasDoneAll(tx, found.undone_by)))
    throw cannotUndo('This bulk action was undone already.')
  const undoId = await createChange(tx, caller, 'Undo', projectId, { undoes: bulkActionId })
  const { numAffectedRows } = await sql`
    insert into bulk_action_item (bulk_action_id, position, device_id, name, hostname, change)
    select ${undoId}, row_number() over (order by i.position) - 1, i.device_id, d.name, nullif(d.hostname, ''), (
             select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                      'label', c.change -> 'label', 'before', c.change -> 'after', 'after', c.change -> 'before')) order by c.place)
               from jsonb_array_elements(i.change) with ordinality as c (change, place))
      from bulk_action_item i left join device d on d.device_id = i.device_id
     where i.bulk_action_id = ${bulkActionId} and i.outcome = 'Succeeded'`.execute(tx)
  await tx
    .updateTable('bulk_action')
    .set({ item_count: Number(numAffectedRows) })
    .where('bulk_action_id', '=', undoId)
    .execute()
  await tx
    .updateTable('bulk_action')
    .set({ undone_by: undoId })
    .where('bulk_action_id', '=', bulkActionId)
    .execute()
  return undoId
}

/** Whether an undo goes on or has ended with all devices. One that was cancelled or stopped may be made again. */
async function hasDoneAll(tx: Tx, undoId: string): Promise<boolean> {
  const undo = await tx
    .selectFrom('bulk_action')
    .where('bulk_action_id', '=', undoId)
    .where('status', 'in', ['Waiting', 'Running', 'Completed'])
    .select('bulk_action_id')
    .executeTakeFirst()
  return undo !== undefined
}

function cannotUndo(message: string): ActionError {
  return new ActionError('Invalid', message, { status: 409 })
}
