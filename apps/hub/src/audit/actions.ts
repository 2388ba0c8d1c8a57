import { newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import { actorId, type Caller, wireActor } from '../caller.ts'
import type { Db } from '../database/client/connection.ts'

export type FinalStatus = 'Succeeded' | 'Failed' | 'Rejected' | 'Panicked'

type AuditEntry = {
  action: string
  caller: Caller
  data: Record<string, unknown>
  nodeId: string
  requestId: string
}

/** Opens the audit row of a command, committed before anything else happens; returns its id. */
export async function openAuditAction(db: Db, entry: AuditEntry): Promise<string> {
  return insert(db, entry, 'Pending')
}

/** Writes the audit row of something that is already over. */
export async function recordAuditAction(db: Db, entry: AuditEntry, status: FinalStatus): Promise<void> {
  await insert(db, entry, status)
}

/**
 * Closes an audit row: in the command's transaction when that commits, after the rollback otherwise. `result` is kept in the row's
 * data as the reason of a failure that the caller was answered. Returns whether the row was still open; it is not when another node
 * took this one for dead.
 */
export async function closeAuditAction(
  db: Db,
  actionId: string,
  status: FinalStatus,
  result?: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('audit_action')
    .set({
      status,
      finished_at: new Date(),
      ...(result !== undefined && { data: sql`data || ${JSON.stringify({ result })}::jsonb` }),
    })
    .where('action_id', '=', actionId)
    .where('status', '=', 'Pending')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** What an audit row says by now. */
export async function auditStatus(db: Db, actionId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('audit_action')
    .where('action_id', '=', actionId)
    .select('status')
    .executeTakeFirst()
  return row?.status
}

/** Rows that nodes left Pending when they died become Panicked: their transactions never committed. */
export async function sweepOrphanedActions(db: Db, deadNodeIds: string[]): Promise<void> {
  if (deadNodeIds.length === 0) return
  await db
    .updateTable('audit_action')
    .set({ status: 'Panicked', finished_at: new Date() })
    .where('status', '=', 'Pending')
    .where('node_id', 'in', deadNodeIds)
    .execute()
}

async function insert(db: Db, entry: AuditEntry, status: FinalStatus | 'Pending'): Promise<string> {
  const { action, caller, data, nodeId, requestId } = entry
  const actionId = newDatedId('audit_act')
  await db
    .insertInto('audit_action')
    .values({
      action_id: actionId,
      action,
      actor: JSON.stringify(wireActor(caller)),
      actor_id: actorId(caller),
      data: JSON.stringify(data),
      status,
      node_id: nodeId,
      request_id: requestId,
      finished_at: status === 'Pending' ? null : new Date(),
    })
    .execute()
  return actionId
}
