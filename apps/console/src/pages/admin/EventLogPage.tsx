import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useActionPages } from '../../api/queries.ts'
import { withoutEmpty } from '../../lib/search.ts'
import { AuditLog } from '../audit/AuditLog.tsx'
import { type AuditSearch, auditFilter, LOG_PAGE_SIZE } from '../audit/audit-search.ts'
import { EVENT_END_HEAD, eventRow } from '../audit/event-row.tsx'

const route = getRouteApi('/authenticated/admin/log')

/** What happened on the instance. */
export function EventLogPage() {
  const search = route.useSearch()
  const navigate = useNavigate({ from: '/admin/log' })
  const input = { filter: auditFilter(search) }
  const list = useActionPages('audit_QueryAuditLogEvents', { ...input, limit: LOG_PAGE_SIZE })
  return (
    <AuditLog
      title="Event Log"
      action="audit_QueryAuditLogEvents"
      input={input}
      list={list}
      rows={list.data?.pages.flatMap(page => page.events.map(eventRow))}
      total={list.data?.pages[0]?.total}
      search={search}
      onSearch={next =>
        void navigate({
          search: current => withoutEmpty<AuditSearch>({ ...current, ...next }),
          replace: true,
          resetScroll: false,
        })
      }
      endHead={EVENT_END_HEAD}
      hasTimestamp
      dense
    />
  )
}
