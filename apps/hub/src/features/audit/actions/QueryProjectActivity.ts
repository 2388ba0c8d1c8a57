import { handler } from '../../../platform/pipeline/handler.ts'
import { queryActivity } from '../log-activity.ts'

/** Counts the events and failed actions in the audit log of a project, in equal parts of a time range. */
export const projects_QueryAuditLogActivity = handler(
  'projects_QueryAuditLogActivity',
  ({ db, scope, signal }, { projectId, ...input }) =>
    queryActivity(db, signal, input, { column: 'project_id', id: projectId, scope }),
)
