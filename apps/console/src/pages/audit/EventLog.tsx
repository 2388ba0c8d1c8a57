import type { ActionOutput } from '@muster/actions/client'
import { useActionPages } from '../../api/queries.ts'
import { Id } from '../../ui/app/Id.tsx'
import { AuditLog } from './AuditLog.tsx'
import type { AuditRow } from './AuditTable.tsx'
import { type AuditSearch, auditFilter, LOG_PAGE_SIZE } from './audit-search.ts'

type EventLogProps = {
  title: string
  /** Query action of the list. */
  action: 'audit_QueryAuditLogEvents' | 'projects_QueryAuditLog' | 'repositories_QueryAuditLog'
  /** Project or repository whose log is shown, as input of the query; absent for the log of the instance. */
  of?: { projectId: string } | { repositoryId: string }
  search: AuditSearch
  dense?: boolean
}

/** Event log of the instance, a project or a repository. */
export function EventLog({ title, action, of, search, dense = false }: EventLogProps) {
  const input = { ...of, filter: auditFilter(search) }
  const list = useActionPages(action, { ...input, limit: LOG_PAGE_SIZE })
  return (
    <AuditLog
      title={title}
      action={action}
      input={input}
      list={list}
      rows={list.data?.pages.flatMap(page => page.events.map(eventRow))}
      search={search}
      endHead="Action/Job id"
      hasTimestamp
      dense={dense}
    />
  )
}

/** An event as a row. The last cell shows the id of the action or job that caused the event (docs/product.md 2). */
function eventRow(event: ActionOutput<EventLogProps['action']>['events'][number]): AuditRow {
  const causeId = event.action?.actionId ?? event.job?.jobId
  return {
    id: event.eventId,
    createdAt: event.createdAt,
    type: event.event,
    actor: event.actor,
    actorName: event.actorName,
    tokenName: event.tokenName,
    data: event.data,
    end: causeId && <Id id={causeId} what={event.action ? 'action id' : 'job id'} wrap />,
  }
}
