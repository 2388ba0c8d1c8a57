import { type ActionOutput, MASKED_HEADER } from '@muster/actions'
import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import type { SecretBox } from '../../platform/storage/secret-box.ts'
import { headersOf } from './formats.ts'
import { type ExportedEvent, type ResourceLogs, resourceLogs, type Source } from './otlp.ts'
import { openTarget, type WebhookRow, webhookRows } from './webhook-rows.ts'

/** Type of the messages of an export, each with a batch of events. */
export const EXPORT_TYPE = 'otlp.Logs'

/** Webhooks of the format `otlp` of a project: at most one. */
export function exportRows(db: Db, projectId: string) {
  return webhookRows(db).where('w.project_id', '=', projectId).where('w.format', '=', 'otlp')
}

/** Settings of an export as answers have them. Without a row it was never set. */
export function exportConfig(
  box: SecretBox,
  row: WebhookRow | undefined,
): ActionOutput<'projects_GetOtlpConfig'>['config'] {
  if (!row) return { enabled: false, headers: {} }
  const target = openTarget(box, row)
  const names = Object.keys(headersOf(target?.credential))
  return {
    enabled: row.is_enabled,
    endpoint: target?.url ?? row.shown_address,
    headers: Object.fromEntries(names.map(name => [name, MASKED_HEADER])),
  }
}

/**
 * Reads the events of a message of an export, by device. Events that were deleted since, or whose device was, are missing. The statements are
 * apart, because the tables of events may be on other servers than the state (docs/scaling.md).
 */
export async function readExport(
  db: Db,
  messageId: string,
): Promise<{ logs: ResourceLogs[]; eventCount: number }> {
  const { rows: keys } = await sql<{ device_id: string; event_id: string; event_day: string }>`
    select k.device_id, k.event_id, k.event_day
      from (select device_ids, event_ids, event_days from event_export where message_id = ${messageId}) e,
           unnest(e.device_ids, e.event_ids, e.event_days) as k (device_id, event_id, event_day)`.execute(db)
  if (keys.length === 0) return { logs: [], eventCount: 0 }
  const deviceIds = keys.map(key => key.device_id)
  const [{ rows: events }, { rows: sources }] = await Promise.all([
    sql<ExportedEvent & { deviceId: string }>`
      select e.device_id as "deviceId", e.event_id as "eventId", e.severity, e.category,
             e.body::text as body, e.attributes::text as attributes,
             (extract(epoch from e.emitted_at) * 1000000)::bigint::text as "emittedMicros",
             (extract(epoch from e.received_at) * 1000000)::bigint::text as "receivedMicros"
        from unnest(${deviceIds}::text[], ${keys.map(key => key.event_id)}::text[],
                    ${keys.map(key => key.event_day)}::date[]) as k (device_id, event_id, event_day)
        join device_event e on e.device_id = k.device_id and e.event_id = k.event_id and e.event_day = k.event_day
       order by e.received_at, e.emitted_at`.execute(db),
    sql<Source>`
      select p.organization_id as "organizationId", p.project_id as "projectId", p.name as "projectName",
             d.device_id as "deviceId", d.name as "deviceName", d.hostname
        from device d join project p on p.project_id = d.project_id
       where d.device_id = any (${[...new Set(deviceIds)]})`.execute(db),
  ])
  const bySource = Map.groupBy(events, event => event.deviceId)
  const logs = sources.flatMap(source => {
    const found = bySource.get(source.deviceId)
    return found ? [resourceLogs(source, found)] : []
  })
  const eventCount = logs.reduce((sum, { scopeLogs }) => sum + scopeLogs[0]!.logRecords.length, 0)
  return { logs, eventCount }
}
