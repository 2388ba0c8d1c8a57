import type { ActionOutput } from '@muster/actions/client'
import { Id } from '../../ui/Id.tsx'
import type { AuditRow } from './AuditTable.tsx'

/** Head of the column that says by what an event came about (spec 2). */
export const EVENT_END_HEAD = 'Action/Job id'

/** One event of an audit log as a row; its last cell is the action or job that caused it. */
export function eventRow(event: ActionOutput<'audit_QueryAuditLogEvents'>['events'][number]): AuditRow {
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
