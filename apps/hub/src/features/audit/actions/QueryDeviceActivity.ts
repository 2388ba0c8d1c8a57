import { handler } from '../../../platform/pipeline/handler.ts'
import { queryActivity } from '../log-activity.ts'

/** Counts the events and failed actions in the audit log of a device, in equal parts of a time range. */
export const devices_QueryAuditLogActivity = handler(
  'devices_QueryAuditLogActivity',
  ({ db, scope, signal }, { deviceId, ...input }) =>
    queryActivity(db, signal, input, { column: 'device_id', id: deviceId, scope }),
)
