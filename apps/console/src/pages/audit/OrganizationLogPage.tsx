import { getRouteApi } from '@tanstack/react-router'
import { organizationIdOf } from '../../organization.ts'
import { EventLog } from './EventLog.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/settings/log')

/** Log of an organization with its projects and repositories. */
export function OrganizationLogPage() {
  const organizationId = organizationIdOf(route.useParams())
  return (
    <EventLog
      title="Audit Log"
      action="organizations_QueryAuditLog"
      of={{ organizationId }}
    />
  )
}
