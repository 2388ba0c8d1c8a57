import { getRouteApi } from '@tanstack/react-router'
import { EventLog } from './EventLog.tsx'

const route = getRouteApi('/authenticated/admin/log')

/** Event log of the instance. */
export function EventLogPage() {
  return <EventLog title="Event Log" action="audit_QueryAuditLogEvents" search={route.useSearch()} />
}
