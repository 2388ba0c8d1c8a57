import {
  BULK_CHANGE_UNDO_SECS,
  type BulkActionKind,
  type BulkActionStatus,
  type BulkReason,
} from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { type Db, select } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { isChange } from '../kinds.ts'

type Row = {
  kind: BulkActionKind
  status: BulkActionStatus
  user_id: string
  actor_name: string | null
  created_at: Date
  started_at: Date | null
  due_at: Date | null
  due_in_secs: number | null
  ended_at: Date | null
  cancelled_by_user_id: string | null
  cancelled_by_name: string | null
  item_count: number
  succeeded_count: number
  skipped_count: number
  failed_count: number
  change: { set?: Record<string, string>; remove?: string[]; pattern?: string } | null
  undoes: string | null
  undone_by: string | null
  undo_secs: number | null
}

const ACTION = `
  select b.kind, b.status, b.user_id, coalesce(u.display_name, u.email) as actor_name, b.created_at, b.started_at, b.due_at,
         ceil(extract(epoch from b.due_at - now()))::integer as due_in_secs, b.ended_at,
         b.cancelled_by ->> 'userId' as cancelled_by_user_id, coalesce(c.display_name, c.email) as cancelled_by_name, b.item_count, b.succeeded_count, b.skipped_count, b.failed_count,
         b.change, b.undoes, b.undone_by, ceil(extract(epoch from b.ended_at - now()) + ${BULK_CHANGE_UNDO_SECS})::integer as undo_secs
    from bulk_action b
    left join "user" u on u.user_id = b.user_id
    left join "user" c on c.user_id = b.cancelled_by ->> 'userId'
   where b.bulk_action_id = $1 and b.project_id = $2`

/** Returns the state of a bulk action and the numbers of its items by outcome. */
export const devices_GetBulkAction = handler(
  'devices_GetBulkAction',
  async ({ db }, { projectId, bulkActionId }) => {
    const [row] = await select<Row>(db, ACTION, [bulkActionId, projectId])
    if (!row) throw refusal()
    // While a bulk action runs, the console polls every second and the items change all the time, so the items are not counted.
    const isRunning = row.status === 'Running' || row.status === 'Waiting'
    const { connected, tokens, addresses } = isRunning
      ? { connected: 0, tokens: 0, addresses: 0 }
      : await countItems(db, bulkActionId)
    const timeOf = (date: Date | null) => (date === null ? undefined : wireTime(date))
    return {
      bulkActionId,
      kind: row.kind,
      status: row.status,
      userId: row.user_id as never,
      actorName: row.actor_name ?? undefined,
      createdAt: wireTime(row.created_at),
      startedAt: timeOf(row.started_at),
      dueAt: row.status === 'Waiting' ? timeOf(row.due_at) : undefined,
      dueInSecs: row.status === 'Waiting' ? Math.max(0, row.due_in_secs ?? 0) : undefined,
      endedAt: timeOf(row.ended_at),
      cancelledByUserId: (row.cancelled_by_user_id ?? undefined) as never,
      cancelledByName: row.cancelled_by_name ?? undefined,
      itemCount: row.item_count,
      succeededCount: row.succeeded_count,
      skippedCount: row.skipped_count,
      failedCount: row.failed_count,
      reasons: isRunning ? undefined : await countReasons(db, bulkActionId),
      set: row.change?.set,
      remove: row.change?.remove,
      pattern: row.change?.pattern,
      undoes: (row.undoes ?? undefined) as never,
      undoneBy: (row.undone_by ?? undefined) as never,
      undoForSecs: canUndo(row) ? row.undo_secs! : undefined,
      connectedCount: connected,
      tokenCount: tokens,
      addressCount: addresses,
    }
  },
)

/** Whether `devices_StartBulkUndo` takes the bulk action. One whose undo was cancelled is not offered, but taken. */
function canUndo({ kind, succeeded_count, undone_by, undo_secs }: Row): boolean {
  return isChange(kind) && succeeded_count > 0 && undone_by === null && (undo_secs ?? 0) > 0
}

async function countReasons(db: Db, bulkActionId: string) {
  const rows = await db
    .selectFrom('bulk_action_item')
    .where('bulk_action_id', '=', bulkActionId)
    .where('reason', 'is not', null)
    .groupBy('reason')
    .select(['reason', sql<number>`count(*)`.as('count')])
    .orderBy('count', 'desc')
    .orderBy('reason')
    .execute()
  return rows.map(({ reason, count }) => ({ reason: reason as BulkReason, itemCount: count }))
}

function countItems(db: Db, bulkActionId: string) {
  return db
    .selectFrom('bulk_action_item as i')
    .leftJoin('device as d', 'd.device_id', 'i.device_id')
    .where('i.bulk_action_id', '=', bulkActionId)
    .select([
      sql<number>`count(distinct i.device_id) filter (where i.outcome = 'Succeeded' and d.is_connected)`.as(
        'connected',
      ),
      sql<number>`count(distinct coalesce(i.token_id, ''))`.as('tokens'),
      sql<number>`count(distinct coalesce(i.remote_address, ''))`.as('addresses'),
    ])
    .executeTakeFirstOrThrow()
}
