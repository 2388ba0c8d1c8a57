import type { ReactNode } from 'react'
import { useActionState } from '../../api/queries.ts'
import { usePageSearch } from '../../lib/app/search.ts'
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

/** Log of the instance, an organization, a project, a repository or a device: its events and failed actions as sentences. */
export function EventLog({ title, crumb, action, of }: EventLogProps) {
  const [search, change] = usePageSearch(auditSearch)
  const filter = auditFilter(search)
  const isFailed = search.outcome === 'failed'
  const outcome = isFailed ? 'Failed' : 'All'
  const log = useLog(action, of, { filter, outcome })
  // The counts are requested after the rows, because they would delay the rows.
  const counts = useActionState(COUNTS[action], { ...of, filter } as never, { enabled: log.isLoaded })
  const activity = counts.data ? (counts.data.activity ?? null) : counts.isError ? null : undefined
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
      above={<Activity activity={activity} />}
    />
  )
}
