import { queryAuditEvents } from '../../audit/log-query.ts'
import { handler } from '../../handler.ts'

export const repositories_QueryAuditLog = handler(
  'repositories_QueryAuditLog',
  ({ db }, { repositoryId, ...input }) =>
    queryAuditEvents(db, input, { column: 'repository_id', id: repositoryId }),
)
