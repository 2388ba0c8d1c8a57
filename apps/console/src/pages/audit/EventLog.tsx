import { ScrollText } from 'lucide-react'
import type { ReactNode } from 'react'
import { useActionState } from '../../api/queries.ts'
import { useChangeSearch } from '../../lib/app/search.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { ExportMenu } from '../../ui/app/ExportMenu.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { Activity } from './Activity.tsx'
import { AUDIT_SEARCH, type AuditSearch } from './audit-params.ts'
import { auditFilter } from './audit-search.ts'
import { LogFilters } from './LogFilters.tsx'
import { LogTable } from './LogTable.tsx'
import { NewEntriesButton } from './NewEntriesButton.tsx'
import { LogSubjects } from './sentences/Sentence.tsx'
import { type LogAction, useLog } from './use-log.ts'
import '../../styles/log.css'

type EventLogProps = {
  title: string
  /** Breadcrumb above the heading. */
  crumb?: ReactNode
  /** Query action of the list. */
  action: LogAction
  /** Resource whose log is shown, as input of the query; absent for the log of the instance. */
  of?: { organizationId: string } | { projectId: string } | { repositoryId: string } | { deviceId: string }
  search: AuditSearch
}

/** Log of the instance, an organization, a project, a repository or a device: its events and failed actions as sentences. */
export function EventLog({ title, crumb, action, of, search }: EventLogProps) {
  const filter = auditFilter(search)
  const isInstance = action === 'audit_QueryAuditLogEvents'
  const outcome = search.outcome === 'failed' ? ('Failed' as const) : ('All' as const)
  const { entries, subjects, sealing, waiting, showNew, isLoaded, list } = useLog(action, of, {
    filter,
    outcome,
  })
  // The counts are requested after the rows, because they would delay the rows.
  const counts = useActionState(COUNTS[action], { ...of, filter } as never, { enabled: isLoaded })
  const activity = counts.data ? (counts.data.activity ?? null) : counts.isError ? null : undefined
  const change = useChangeSearch<AuditSearch>()
  const isFiltered = Object.keys(filter).length > 0 || search.outcome === 'failed'
  return (
    <LogSubjects value={{ subjects, isInstance }}>
      <ListPage
        {...(crumb && { crumb })}
        title={title}
        what="entries"
        list={list}
        shown={entries?.length}
        actions={<ExportMenu action={action} input={{ ...of, filter, outcome }} />}
      >
        <LogFilters
          search={search}
          entries={entries ?? []}
          subjects={subjects}
          isInstance={isInstance}
          activity={activity}
        />
        {entries?.length === 0 && !isFiltered && !list.isPlaceholderData ? (
          <EmptyState icon={ScrollText} title="Nothing has happened here yet." />
        ) : (
          <>
            <Activity activity={activity} />
            <LogTable
              caption={title}
              entries={entries}
              sealing={sealing}
              isWhole={isInstance}
              notice={<NewEntriesButton waiting={waiting} onShow={showNew} />}
              onClear={() => change(NO_FILTER)}
            />
          </>
        )}
      </ListPage>
    </LogSubjects>
  )
}

/** Action that counts the entries of a log. */
const COUNTS = {
  audit_QueryAuditLogEvents: 'audit_QueryAuditLogActivity',
  organizations_QueryAuditLog: 'organizations_QueryAuditLogActivity',
  projects_QueryAuditLog: 'projects_QueryAuditLogActivity',
  repositories_QueryAuditLog: 'repositories_QueryAuditLogActivity',
  devices_QueryAuditLog: 'devices_QueryAuditLogActivity',
} as const

const NO_FILTER = Object.fromEntries(AUDIT_SEARCH.map(name => [name, ''])) as Record<
  keyof AuditSearch,
  string
>
