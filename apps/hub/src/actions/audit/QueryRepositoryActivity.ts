import { queryActivity } from '../../audit/log-activity.ts'
import { handler } from '../../handler.ts'

/** Counts the entries in the log of a repository over time. */
export const repositories_QueryAuditLogActivity = handler(
  'repositories_QueryAuditLogActivity',
  ({ db, scope, signal }, { repositoryId, ...input }) =>
    queryActivity(db, signal, input, { column: 'repository_id', id: repositoryId, scope }),
)
