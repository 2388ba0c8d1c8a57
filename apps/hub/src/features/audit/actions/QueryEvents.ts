import { handler } from '../../../platform/pipeline/handler.ts'
import { queryAuditEvents } from '../log-query.ts'

/** Lists the audit events of the instance, newest first. */
export const audit_QueryAuditLogEvents = handler('audit_QueryAuditLogEvents', ({ db }, input) =>
  queryAuditEvents(db, input),
)
