import { queryAuditActions } from '../../audit/log-query.ts'
import { handler } from '../../handler.ts'

export const audit_QueryAuditLogActions = handler('audit_QueryAuditLogActions', ({ db }, input) =>
  queryAuditActions(db, input),
)
