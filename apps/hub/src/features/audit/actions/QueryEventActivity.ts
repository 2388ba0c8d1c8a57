import { handler } from '../../../platform/pipeline/handler.ts'
import { queryActivity } from '../log-activity.ts'

/** Counts the events and failed actions in the audit log of the instance, in equal parts of a time range. */
export const audit_QueryAuditLogActivity = handler('audit_QueryAuditLogActivity', ({ db, signal }, input) =>
  queryActivity(db, signal, input),
)
