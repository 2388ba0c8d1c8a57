import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { settle } from '../advance.ts'
import { lockOperations } from '../operation-rows.ts'
import { cancelled, hasEnded } from '../operation-state.ts'

/** Cancels an operation. A report that its device still sends changes nothing. */
export const devices_CancelOperation = handler(
  'devices_CancelOperation',
  async (transaction, { deviceOperationId }) => {
    const { tx, events } = transaction
    const [locked] = await lockOperations(tx, sql`o.operation_id = ${deviceOperationId}`)
    if (!locked) throw refusal()
    const { before, nowMs, projectId, deviceId, name } = locked
    if (before.status === 'Cancelled') return {}
    if (hasEnded(before))
      throw new ActionError(
        'Invalid',
        `Found an operation with the status ${before.status}, expected one that has not ended.`,
        { status: 409 },
      )
    const after = cancelled(before, nowMs, 'The operation was cancelled.')
    await settle(transaction, [{ locked, after, dueAtMs: undefined }])
    await events.emit('devices_OperationCancelled', { projectId, deviceId, deviceOperationId, name })
    return {}
  },
)
