import { handler } from '../../../platform/pipeline/handler.ts'
import { queryActivity } from '../log-activity.ts'

/** Counts the events and failed actions in the audit log of an organization, in equal parts of a time range. */
export const organizations_QueryAuditLogActivity = handler(
  'organizations_QueryAuditLogActivity',
  ({ db, scope, signal }, { organizationId, ...input }) =>
    queryActivity(db, signal, input, { column: 'organization_id', id: organizationId, scope }),
)
