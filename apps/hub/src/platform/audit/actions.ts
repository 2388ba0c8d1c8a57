import { newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import type { Scope } from '../access/scope.ts'
import type { Db } from '../database/client/connection.ts'
import { actorId, type Caller, wireActor } from '../pipeline/caller.ts'
import { type Origin, originColumns, storedText } from './facts.ts'

/** Final status of an audited action. A running command is `Pending`. */
export type FinalStatus = 'Succeeded' | 'Failed' | 'Rejected' | 'Panicked'

type AuditEntry = {
  action: string
  caller: Caller
  data: Record<string, unknown>
  nodeId: string
  requestId: string
  origin?: Origin | undefined
}

/** Outcome of an action, for its audit row. */
export type Ending = {
  /** Field `result` of an output that means a failure, such as `InvalidToken`. It is added to the row's data. */
  result?: string | undefined
  /** Reason of the failure: the error message that the caller got, or a more precise reason. */
  reason?: string | undefined
  /** Resource whose logs list a failed action. Without it, only the log of the instance lists the action. */
  scope?: Scope | undefined
}

/** Inserts the audit row of a command as `Pending` and returns its id. The row is committed before the command does anything. */
export async function openAuditAction(db: Db, entry: AuditEntry): Promise<string> {
  return insert(db, entry, 'Pending')
}

/** Inserts the audit row of an action that has already ended. */
export async function recordAuditAction(
  db: Db,
  entry: AuditEntry,
  status: FinalStatus,
  reason?: string,
): Promise<void> {
  await insert(db, entry, status, reason)
}

/**
 * Sets the final status of an audit row. A command that commits calls it in its own transaction, a failed command after the rollback.
 * Returns false when the row is no longer `Pending`, because it already has a final status or another node marked this node as dead.
 */
export async function closeAuditAction(
  db: Db,
  actionId: string,
  status: FinalStatus,
  { result, reason, scope }: Ending = {},
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('audit_action')
    .set({
      status,
      finished_at: new Date(),
      ...(status !== 'Succeeded' && { reason: storedText(reason), ...scopeColumns(scope) }),
      ...(result !== undefined && { data: sql`data || ${JSON.stringify({ result })}::jsonb` }),
    })
    .where('action_id', '=', actionId)
    .where('status', '=', 'Pending')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Current status of an audit row. Undefined when the row is absent. */
export async function auditStatus(db: Db, actionId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('audit_action')
    .where('action_id', '=', actionId)
    .select('status')
    .executeTakeFirst()
  return row?.status
}

/**
 * Sets rows that dead nodes left `Pending` to `Panicked`. The transactions of these rows never committed, because a commit would
 * have set the final status.
 */
export async function sweepOrphanedActions(db: Db, deadNodeIds: string[]): Promise<void> {
  if (deadNodeIds.length === 0) return
  await db
    .updateTable('audit_action')
    .set({
      status: 'Panicked',
      finished_at: new Date(),
      reason: 'The node of the hub ended while the action ran.',
    })
    .where('status', '=', 'Pending')
    .where('node_id', 'in', deadNodeIds)
    .execute()
}

function scopeColumns({ organizationId, projectId, repositoryId, deviceId, userId }: Scope = {}) {
  return {
    organization_id: organizationId ?? null,
    project_id: projectId ?? null,
    repository_id: repositoryId ?? null,
    device_id: deviceId ?? null,
    user_id: userId ?? null,
  }
}

async function insert(
  db: Db,
  entry: AuditEntry,
  status: FinalStatus | 'Pending',
  reason?: string,
): Promise<string> {
  const { action, caller, data, nodeId, requestId, origin } = entry
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
      reason: storedText(reason),
      ...originColumns(caller, origin),
      finished_at: status === 'Pending' ? null : new Date(),
    })
    .execute()
  return actionId
}
