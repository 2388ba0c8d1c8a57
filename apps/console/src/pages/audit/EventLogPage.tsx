import { EventLog } from './EventLog.tsx'

/** Event log of the instance. */
export function EventLogPage() {
  return <EventLog title="Event Log" action="audit_QueryAuditLogEvents" />
}
