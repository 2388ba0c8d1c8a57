import { getRouteApi } from '@tanstack/react-router'
import { useChangeSearch } from '../../lib/app/search.ts'
import { Segments } from '../../ui/app/Segments.tsx'
import type { AuditSearch } from './audit-params.ts'
import { auditFilter } from './audit-search.ts'
import { LogPage } from './LogPage.tsx'
import { STATUS_LOOKS } from './status-looks.ts'
import { useLog } from './use-log.ts'

type Status = keyof typeof STATUS_LOOKS

const STATUSES = Object.keys(STATUS_LOOKS) as Status[]
const SEGMENTS = [
  { value: 'all', label: 'All' },
  ...STATUSES.map(status => ({ value: status, label: status })),
] as const

const route = getRouteApi('/authenticated/admin/actions')

/** Log of all actions on the instance with their results. */
export function ActionsLogPage() {
  const search = route.useSearch()
  const change = useChangeSearch<AuditSearch>()
  const status = STATUSES.find(one => one === search.status)
  const input = { filter: { ...auditFilter(search), ...(status && { statuses: [status] }) } }
  return (
    <LogPage
      title="Actions Log"
      action="audit_QueryAuditLogActions"
      input={input}
      log={useLog('audit_QueryAuditLogActions', undefined, input)}
      search={search}
      isFiltered={Object.keys(input.filter).length > 0}
      columns="actions"
      outcome={
        <Segments
          label="Status"
          value={status ?? 'all'}
          options={SEGMENTS}
          onChange={value => change({ status: value === 'all' ? '' : value })}
        />
      }
    />
  )
}
