import { handler } from '../../../platform/pipeline/handler.ts'
import { queryAuditEvents } from '../log-query.ts'

/** Lists the audit events of a project and its devices, newest first. */
export const projects_QueryAuditLog = handler(
  'projects_QueryAuditLog',
  ({ db, scope }, { projectId, ...input }) =>
    queryAuditEvents(db, input, { column: 'project_id', id: projectId, scope }),
)
