import { queryActivity } from '../../audit/log-activity.ts'
import { handler } from '../../handler.ts'

/** Counts the entries in the log of the instance over time. */
export const audit_QueryAuditLogActivity = handler('audit_QueryAuditLogActivity', ({ db, signal }, input) =>
  queryActivity(db, signal, input),
)
