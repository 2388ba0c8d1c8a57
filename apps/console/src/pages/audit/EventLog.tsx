import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useActionState } from '../../api/queries.ts'
import { usePageSearch } from '../../lib/app/search.ts'
import { organizationIdOf } from '../../organization.ts'
import { Segments } from '../../ui/app/Segments.tsx'
import { Activity } from './Activity.tsx'
import { auditFilter, auditSearch } from './audit-search.ts'
import { LogPage } from './LogPage.tsx'
import { COUNTS, type LogAction, useLog } from './use-log.ts'

type EventLogProps = {
  title: string
  /** Breadcrumb above the heading. */
  crumb?: ReactNode
  /** Query action of the list. */
  action: Exclude<LogAction, 'audit_QueryAuditLogActions'>
  /** Resource whose log is shown, as input of the query; absent for the log of the instance. */
  of?: { organizationId: string } | { projectId: string } | { repositoryId: string } | { deviceId: string }
}

/** Events and failed actions of the instance, an organization, a project, a repository or a device as sentences. */
export function EventLog({ title, crumb, action, of }: EventLogProps) {
  const [search, change] = usePageSearch(auditSearch)
  const filter = auditFilter(search)
  const isFailed = search.outcome === 'failed'
  const outcome = isFailed ? 'Failed' : 'All'
  const log = useLog(action, of, { filter, outcome })
  // The counts are requested after the rows, because they would delay the rows.
  const counts = useActionState(COUNTS[action], { ...of, filter } as never, { enabled: log.isLoaded })
  const activity = counts.data && (counts.data.activity ?? null)
  return (
    <LogPage
      title={title}
      crumb={crumb}
      action={action}
      input={{ ...of, filter, outcome }}
      log={log}
      isFiltered={Object.keys(filter).length > 0 || isFailed}
      counting={{
        action: COUNTS[action],
        inputOf: time => ({ ...of, filter: auditFilter({ ...search, ...time }) }),
        isFailed,
      }}
      columns={action === 'audit_QueryAuditLogEvents' ? 'whole' : 'short'}
      outcome={
        <Segments
          label="Outcome"
          value={search.outcome}
          options={[
            { value: 'all', label: 'All', count: activity?.entryCount },
            { value: 'failed', label: 'Failed', mark: 'error', count: activity?.failureCount },
          ]}
          onChange={value => change({ outcome: value })}
        />
      }
      above={<Activity activity={activity} isFailed={counts.isError} />}
    />
  )
}

const ORGANIZATION = '/authenticated/org_{$organization}'

/** Event log of the instance. */
export function EventLogPage() {
  return <EventLog title="Event Log" action="audit_QueryAuditLogEvents" />
}

/** Log of an organization with its projects and repositories. */
export function OrganizationLogPage() {
  const organizationId = organizationIdOf(useParams({ from: `${ORGANIZATION}/settings/log` }))
  return <EventLog title="Audit Log" action="organizations_QueryAuditLog" of={{ organizationId }} />
}

/** Log of a project and its devices. */
export function ProjectLogPage() {
  const { projectId } = useParams({ from: `${ORGANIZATION}/projects/$projectId/log` })
  return <EventLog title="Audit Log" action="projects_QueryAuditLog" of={{ projectId }} />
}

/** Log of a repository. */
export function RepositoryLogPage() {
  const { repositoryId } = useParams({ from: `${ORGANIZATION}/repositories/$repositoryId/log` })
  return <EventLog title="Audit Log" action="repositories_QueryAuditLog" of={{ repositoryId }} />
}
