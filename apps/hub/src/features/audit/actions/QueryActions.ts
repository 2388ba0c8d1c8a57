import { handler } from '../../../platform/pipeline/handler.ts'
import { queryAuditActions } from '../log-query.ts'

/** Lists every action that was tried on the instance, with its outcome, newest first. */
export const audit_QueryAuditLogActions = handler('audit_QueryAuditLogActions', ({ db }, input) =>
  queryAuditActions(db, input),
)
