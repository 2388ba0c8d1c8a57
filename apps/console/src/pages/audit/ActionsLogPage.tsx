import { usePageSearch } from '../../lib/app/search.ts'
import { Segments } from '../../ui/app/Segments.tsx'
import { auditFilter, auditSearch, STATUSES } from './audit-search.ts'
import { LogPage } from './LogPage.tsx'
import { useLog } from './use-log.ts'

const SEGMENTS = [
  { value: 'all', label: 'All' },
  ...STATUSES.map(status => ({ value: status, label: status })),
] as const

/** Log of all actions on the instance with their results. */
export function ActionsLogPage() {
  const [search, change] = usePageSearch(auditSearch)
  const { status } = search
  const input = { filter: { ...auditFilter(search), ...(status !== 'all' && { statuses: [status] }) } }
  return (
    <LogPage
      title="Actions Log"
      action="audit_QueryAuditLogActions"
      input={input}
      log={useLog('audit_QueryAuditLogActions', undefined, input)}
      isFiltered={Object.keys(input.filter).length > 0}
      columns="actions"
      outcome={
        <Segments
          label="Status"
          value={status}
          options={SEGMENTS}
          onChange={value => change({ status: value })}
        />
      }
    />
  )
}
