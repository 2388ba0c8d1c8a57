import { handler } from '../../../platform/pipeline/handler.ts'
import { queryActivity } from '../log-activity.ts'

/** Counts the events and failed actions in the audit log of a repository, in equal parts of a time range. */
export const repositories_QueryAuditLogActivity = handler(
  'repositories_QueryAuditLogActivity',
  ({ db, scope, signal }, { repositoryId, ...input }) =>
    queryActivity(db, signal, input, { column: 'repository_id', id: repositoryId, scope }),
)
