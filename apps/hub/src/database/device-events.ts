import { ActionError, MAX_EVENT_BYTES, type ParsedInput } from '@muster/actions'
import { CompiledQuery } from 'kysely'
import { binaryArray } from './binary-array.ts'
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

/** Inserts events of many devices; one of a deleted device is dropped. Fails with `unique_violation` when a device has one already. */
export const INSERT_NEW_EVENTS = {
  name: 'ingest-new-events',
  text: `
    insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
    select i.device_id, i.event_id, i.event_day::date, i.severity, i.category, i.body, i.attributes, i.emitted_at::timestamptz
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::json[], $8::text[])
        as i (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
      join device using (device_id)`,
}

/** As `INSERT_NEW_EVENTS`, but an event that a device has already is left as it is, which costs a quarter more for each. */
export const INSERT_EVENTS = {
  name: 'ingest-events',
  text: `${INSERT_NEW_EVENTS.text} on conflict do nothing`,
}

/** The parameters of both. */
export function eventColumns(rows: EventRow[]): Buffer[] {
  const texts = (of: (row: EventRow) => string | null): Buffer => binaryArray('text', rows.map(of))
  const jsons = (of: (row: EventRow) => string): Buffer => binaryArray('json', rows.map(of))
  return [
    texts(row => row.deviceId),
    texts(row => row.eventId),
    texts(row => row.day),
    texts(row => row.severity),
    texts(row => row.category),
    jsons(row => row.body),
    jsons(row => row.attributes),
    texts(row => row.emittedAt),
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
    day: dayOf(event),
    severity: event.severity,
    category: event.category ?? null,
    body,
    attributes,
    emittedAt: event.emittedAt,
  }
}

/**
 * How many days after the date in its id an event may be emitted: ids are stamped at midnight, too. Those that are emitted later lie
 * with the events of no date, so that the latest events of a device are in the partitions of the latest days.
 */
export const MAX_DAYS_LATE = 1
/** The day of events whose id has no date, or was stamped long before they were emitted. */
export const NO_DAY = '0001-01-01'

const DAY_MS = 24 * 60 * 60 * 1000

/** The day that was asked for last: nearly all events are of today. */
let lastDay = { digits: '', day: '', startMs: 0 }

/** The partition of an event: the UTC date inside its id, so that one that is sent twice meets itself. */
function dayOf({ eventId, emittedAt }: Pick<DeviceEvent, 'eventId' | 'emittedAt'>): string {
  const digits = eventId.slice('d_ev_'.length, 'd_ev_'.length + 8)
  if (digits !== lastDay.digits) {
    const day = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}`
    lastDay = { digits, day, startMs: isDate(day) ? Date.parse(day) : Number.NaN }
  }
  const isInTime = Date.parse(emittedAt) < lastDay.startMs + (MAX_DAYS_LATE + 1) * DAY_MS
  return isInTime ? lastDay.day : NO_DAY
}

/** Ids are checked for digits only. */
function isDate(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && !day.startsWith('0000')
}
