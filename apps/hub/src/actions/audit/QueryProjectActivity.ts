import { queryActivity } from '../../audit/log-activity.ts'
import { handler } from '../../handler.ts'

/** Counts the entries in the log of a project over time. */
export const projects_QueryAuditLogActivity = handler(
  'projects_QueryAuditLogActivity',
  ({ db, scope, signal }, { projectId, ...input }) =>
    queryActivity(db, signal, input, { column: 'project_id', id: projectId, scope }),
)
