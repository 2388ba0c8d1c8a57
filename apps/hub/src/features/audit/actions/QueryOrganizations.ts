import { handler } from '../../../platform/pipeline/handler.ts'
import { queryAuditEvents } from '../log-query.ts'

/** Lists the audit events of an organization, its projects and repositories, newest first. */
export const organizations_QueryAuditLog = handler(
  'organizations_QueryAuditLog',
  ({ db, scope }, { organizationId, ...input }) =>
    queryAuditEvents(db, input, { column: 'organization_id', id: organizationId, scope }),
)
