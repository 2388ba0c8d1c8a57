import type { ActionOutput } from '@muster/actions/client'
import { useActionPages } from '../../api/queries.ts'
import { Id } from '../../ui/Id.tsx'
import { AuditLog } from './AuditLog.tsx'
import type { AuditRow } from './AuditTable.tsx'
import { type AuditSearch, auditFilter, LOG_PAGE_SIZE } from './audit-search.ts'

type EventLogProps = {
  title: string
  /** The query whose list this is. */
  action: 'audit_QueryAuditLogEvents' | 'projects_QueryAuditLog' | 'repositories_QueryAuditLog'
  /** Whose log it is, as input of the query; nothing for the instance. */
  of?: { projectId: string } | { repositoryId: string }
  search: AuditSearch
  dense?: boolean
}

/** What happened on the instance, in a project or in a repository. */
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

/** One event as a row; its last cell is the action or job that caused it (spec 2). */
function eventRow(event: ActionOutput<EventLogProps['action']>['events'][number]): AuditRow {
  const causeId = event.action?.actionId ?? event.job?.jobId
  return {
    id: event.eventId,
    createdAt: event.createdAt,
    type: event.event,
    actor: event.actor,
    actorName: event.actorName,
    data: event.data,
    end: causeId && <Id id={causeId} what={event.action ? 'action id' : 'job id'} wrap />,
  }
}
