import { handler } from '../../../platform/pipeline/handler.ts'
import { queryAuditEvents } from '../log-query.ts'

/** Lists the audit events of a device, newest first. */
export const devices_QueryAuditLog = handler(
  'devices_QueryAuditLog',
  ({ db, scope }, { deviceId, ...input }) =>
    queryAuditEvents(db, input, { column: 'device_id', id: deviceId, scope }),
)
