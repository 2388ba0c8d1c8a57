import { queryActivity } from '../../audit/log-activity.ts'
import { handler } from '../../handler.ts'

/** Counts the entries in the log of a device over time. */
export const devices_QueryAuditLogActivity = handler(
  'devices_QueryAuditLogActivity',
  ({ db, scope, signal }, { deviceId, ...input }) =>
    queryActivity(db, signal, input, { column: 'device_id', id: deviceId, scope }),
)
