import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi } from '@tanstack/react-router'
import { CircleCheck, Clock, OctagonAlert, X } from 'lucide-react'
import { useActionPages } from '../../api/queries.ts'
import { useChangeSearch } from '../../lib/app/search.ts'
import { Segments } from '../../ui/app/Segments.tsx'
import { StateBadge, type StateLook } from '../../ui/app/StateBadge.tsx'
import { AuditLog } from '../audit/AuditLog.tsx'
import type { AuditRow } from '../audit/AuditTable.tsx'
import { type AuditSearch, LOG_PAGE_SIZE } from '../audit/audit-params.ts'
import { auditFilter } from '../audit/audit-search.ts'

type AuditAction = ActionOutput<'audit_QueryAuditLogActions'>['actions'][number]
type Status = AuditAction['status']

const LOOKS: Record<Status, StateLook> = {
  Succeeded: { tone: 'ok', icon: CircleCheck },
  Failed: { tone: 'bad', icon: OctagonAlert },
  Rejected: { tone: 'bad', icon: X },
  Panicked: { tone: 'bad', icon: OctagonAlert },
  Pending: { tone: 'warn', icon: Clock },
}

const STATUSES = Object.keys(LOOKS) as Status[]
const SEGMENTS = [
  { value: 'all', label: 'All' },
  ...STATUSES.map(status => ({ value: status, label: status })),
] as const

const route = getRouteApi('/authenticated/admin/actions')

/** Log of all actions on the instance with their results. */
export function ActionsLogPage() {
  const search = route.useSearch()
  const change = useChangeSearch<AuditSearch & { status?: string }>()
  const status = STATUSES.find(one => one === search.status)
  const input = { filter: { ...auditFilter(search), ...(status && { statuses: [status] }) } }
  const list = useActionPages('audit_QueryAuditLogActions', { ...input, limit: LOG_PAGE_SIZE })
  return (
    <AuditLog
      title="Actions Log"
      action="audit_QueryAuditLogActions"
      input={input}
      list={list}
      rows={list.data?.pages.flatMap(page => page.actions.map(actionRow))}
      search={search}
      endHead="Status"
      dense
    >
      <Segments
        label="Status"
        value={status ?? 'all'}
        options={SEGMENTS}
        onChange={value => change({ status: value === 'all' ? '' : value })}
      />
    </AuditLog>
  )
}

function actionRow({
  actionId,
  createdAt,
  action,
  actor,
  actorName,
  tokenName,
  data,
  status,
}: AuditAction): AuditRow {
  return {
    id: actionId,
    createdAt,
    type: action,
    actor,
    actorName,
    tokenName,
    data,
    end: <StateBadge looks={LOOKS} state={status} />,
  }
}
