import { handler } from '../../../platform/pipeline/handler.ts'
import { queryAuditEvents } from '../log-query.ts'

/** Lists the audit events of a repository, newest first. */
export const repositories_QueryAuditLog = handler(
  'repositories_QueryAuditLog',
  ({ db, scope }, { repositoryId, ...input }) =>
    queryAuditEvents(db, input, { column: 'repository_id', id: repositoryId, scope }),
)
