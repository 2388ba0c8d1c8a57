import { ActionError, MAX_EVENT_BYTES, type ParsedInput } from '@muster/actions'
import { CompiledQuery } from 'kysely'
import type { Tx } from './connection.ts'

/** An event as clients send it. */
export type DeviceEvent = ParsedInput<'devices_PublishEvents'>['events'][number]

/** An event as it is stored. */
export type EventRow = {
  deviceId: string
  eventId: string
  day: string
  severity: string
  category: string | null
  body: string
  attributes: string
  emittedAt: string
}

/** Inserts events of many devices; one that a device has already is left as it is, one of a deleted device is dropped. */
export const INSERT_EVENTS = {
  name: 'ingest-events',
  text: `
    insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
    select i.device_id, i.event_id, i.event_day, i.severity, i.category, i.body, i.attributes, i.emitted_at
      from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::text[], $6::json[], $7::json[], $8::timestamptz[])
        as i (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
      join device using (device_id)
    on conflict do nothing`,
}

/** The parameters of `INSERT_EVENTS`. */
export function eventColumns(rows: EventRow[]): unknown[][] {
  return [
    rows.map(row => row.deviceId),
    rows.map(row => row.eventId),
    rows.map(row => row.day),
    rows.map(row => row.severity),
    rows.map(row => row.category),
    rows.map(row => row.body),
    rows.map(row => row.attributes),
    rows.map(row => row.emittedAt),
  ]
}

/** Stores events of one device in a transaction. Throws `Invalid` for one that is too large. */
export async function insertEvents(tx: Tx, deviceId: string, events: DeviceEvent[]): Promise<void> {
  const rows = events.map(event => eventRow(deviceId, event))
  await tx.executeQuery(CompiledQuery.raw(INSERT_EVENTS.text, eventColumns(rows)))
}

/** The row of an event. Throws `Invalid` for one that is too large. */
export function eventRow(deviceId: string, event: DeviceEvent): EventRow {
  const body = JSON.stringify(event.body)
  const attributes = JSON.stringify(event.attributes)
  const sizeBytes = Buffer.byteLength(body) + Buffer.byteLength(attributes)
  if (sizeBytes > MAX_EVENT_BYTES) {
    throw new ActionError(
      'Invalid',
      `The event ${event.eventId} has ${sizeBytes} bytes; at most ${MAX_EVENT_BYTES} are stored.`,
    )
  }
  return {
    deviceId,
    eventId: event.eventId,
    day: dayOf(event.eventId),
    severity: event.severity,
    category: event.category ?? null,
    body,
    attributes,
    emittedAt: event.emittedAt,
  }
}

/** The UTC date inside an event id; ids are checked for digits only, so one that is no date counts as the first of all days. */
function dayOf(eventId: string): string {
  const digits = eventId.slice('d_ev_'.length, 'd_ev_'.length + 8)
  const day = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}`
  const date = new Date(`${day}T00:00:00Z`)
  const isReal =
    !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && !day.startsWith('0000')
  return isReal ? day : '0001-01-01'
}
