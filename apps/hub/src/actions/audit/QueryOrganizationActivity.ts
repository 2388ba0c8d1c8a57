import { queryActivity } from '../../audit/log-activity.ts'
import { handler } from '../../handler.ts'

/** Counts the entries in the log of an organization over time. */
export const organizations_QueryAuditLogActivity = handler(
  'organizations_QueryAuditLogActivity',
  ({ db, scope, signal }, { organizationId, ...input }) =>
    queryActivity(db, signal, input, { column: 'organization_id', id: organizationId, scope }),
)
