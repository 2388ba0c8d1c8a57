import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { olderNodes } from '../../../platform/cluster/older-nodes.ts'
import type { Tx } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { settle } from '../advance.ts'
import { type Locked, lockOperations } from '../operation-rows.ts'
import { released, started } from '../operation-state.ts'

/** Migration with the tables of operations. A node whose release does not know it offers devices no work. */
const MIGRATION = '0051_device_operations.sql'

/** Starts an operation, or lets one go on that a restore has held. */
export const devices_StartOperation = handler(
  'devices_StartOperation',
  async ({ tx, events, afterCommit, services, scope, ...transaction }, { deviceOperationId }) => {
    // Locks the device, so that two operations on one property cannot start at the same time.
    const device = await tx
      .selectFrom('device')
      .where('device_id', '=', scope.deviceId!)
      .select('device_id')
      .forNoKeyUpdate()
      .executeTakeFirst()
    const [locked] = await lockOperations(tx, sql`o.operation_id = ${deviceOperationId}`)
    if (!locked) throw refusal()
    const { before, nowMs, projectId, deviceId, name } = locked
    if (!device || (before.status !== 'Pending' && !before.isHeld))
      throw new ActionError(
        'Invalid',
        `Found an operation with the status ${before.status}, expected one that is pending or held after a restore.`,
        { status: 409 },
      )
    await requireAllNodes(tx)
    await requireFreeProperties(tx, locked)
    const after = before.isHeld ? released(before, nowMs) : started(before, nowMs)
    await settle({ ...transaction, tx, events, afterCommit }, [{ locked, after, dueAtMs: nowMs }])
    await events.emit('devices_OperationStarted', { projectId, deviceId, deviceOperationId, name })
    afterCommit(() => services.operations.advance(deviceOperationId))
    return {}
  },
)

/** Throws `Invalid` while a node of an older release is alive, because devices of that node would get no work and could not report. */
async function requireAllNodes(tx: Tx): Promise<void> {
  const older = await olderNodes(tx, MIGRATION)
  if (older.length === 0) return
  throw new ActionError(
    'Invalid',
    `The node ${older[0]} has an older release without operations: upgrade all nodes, then start the operation.`,
    { status: 409 },
  )
}

/** Throws `Invalid` if another operation of the device that has started, and not ended, changes one of the properties. */
async function requireFreeProperties(tx: Tx, { operationId, deviceId }: Locked): Promise<void> {
  const { rows } = await sql<{ operation_id: string; name: string; property: string }>`
    select o.operation_id, o.name, w.property
      from device_operation me
      join device_operation o on o.device_id = me.device_id and o.completed_at is null and o.status = 'Running'
                             and o.held_at is null and o.operation_id <> me.operation_id and o.writes && me.writes
      cross join lateral unnest(o.writes) as w (property)
     where me.operation_id = ${operationId} and me.device_id = ${deviceId} and w.property = any (me.writes)
     order by o.started_at, w.property limit 1`.execute(tx)
  const [other] = rows
  if (!other) return
  throw new ActionError(
    'Invalid',
    `The operation "${other.name}" (${other.operation_id}) changes the property "${other.property}" too: wait until it has ended, or cancel it.`,
    { status: 409 },
  )
}
