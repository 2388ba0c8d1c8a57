import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useActionPages } from '../../api/queries.ts'
import { withoutEmpty } from '../../lib/search.ts'
import { AuditLog } from './AuditLog.tsx'
import { type AuditSearch, auditFilter, LOG_PAGE_SIZE } from './audit-search.ts'
import { EVENT_END_HEAD, eventRow } from './event-row.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/log')

/** What happened in a repository. */
export function RepositoryLogPage() {
  const { repositoryId } = route.useParams()
  const search = route.useSearch()
  const navigate = useNavigate({ from: '/org_{$organization}/repositories/$repositoryId/log' })
  const input = { repositoryId, filter: auditFilter(search) }
  const list = useActionPages('repositories_QueryAuditLog', { ...input, limit: LOG_PAGE_SIZE })
  return (
    <AuditLog
      title="Audit Log"
      action="repositories_QueryAuditLog"
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
    />
  )
}
