import { queryAuditEvents } from '../../audit/log-query.ts'
import { handler } from '../../handler.ts'

export const organizations_QueryAuditLog = handler(
  'organizations_QueryAuditLog',
  ({ db }, { organizationId, ...input }) =>
    queryAuditEvents(db, input, { column: 'organization_id', id: organizationId }),
)
