import { getRouteApi } from '@tanstack/react-router'
import { EventLog } from './EventLog.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/log')

/** Event log of a repository. */
export function RepositoryLogPage() {
  const { repositoryId } = route.useParams()
  return (
    <EventLog
      title="Audit Log"
      action="repositories_QueryAuditLog"
      of={{ repositoryId }}
    />
  )
}
