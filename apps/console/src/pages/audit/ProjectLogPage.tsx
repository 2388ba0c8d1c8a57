import { getRouteApi } from '@tanstack/react-router'
import { EventLog } from './EventLog.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/log')

/** Page with the audit log of a project and its devices. */
export function ProjectLogPage() {
  const { projectId } = route.useParams()
  return (
    <EventLog
      title="Audit Log"
      action="projects_QueryAuditLog"
      of={{ projectId }}
    />
  )
}
