import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { needsSession } from '../../../platform/access/asking-session.ts'
import { refusal } from '../../../platform/access/authorize.ts'
import { wireActor } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { countsOf } from '../bulk-actions.ts'
import { isChange, knownKind } from '../kinds.ts'

/**
 * Cancels a bulk action, also one of a kind that only nodes of a newer release know. The update waits until the devices or certificates in
 * flight are processed. No other is processed after it.
 */
export const devices_CancelBulkAction = handler(
  'devices_CancelBulkAction',
  async ({ tx, events, caller, enqueue }, { projectId, bulkActionId }) => {
    const found = await tx
      .selectFrom('bulk_action')
      .where('bulk_action_id', '=', bulkActionId)
      .where('project_id', '=', projectId)
      .select(['status', 'kind'])
      .forUpdate()
      .executeTakeFirst()
    if (!found) throw refusal()
    const { status, kind } = found
    if (caller.actor !== 'User' && !isChange(kind)) throw needsSession()
    if (!['Prepared', 'Waiting', 'Running'].includes(status))
      throw new ActionError('Invalid', 'This bulk action has ended already.', { status: 409 })
    const { done } = await tx
      .updateTable('bulk_action')
      .set({
        status: 'Cancelled',
        ended_at: sql`now()`,
        cancelled_by: JSON.stringify(wireActor(caller)),
        ...countsOf(bulkActionId),
      })
      .where('bulk_action_id', '=', bulkActionId)
      .returning(sql<number>`succeeded_count + skipped_count + failed_count`.as('done'))
      .executeTakeFirstOrThrow()
    if (done > 0) await knownKind(kind)?.onEnd?.(enqueue)
    await events.emit('devices_BulkActionCancelled', { projectId, bulkActionId, kind, doneCount: done })
    return {}
  },
)
