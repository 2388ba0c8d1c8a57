import { ActionError, MAX_EVENT_BYTES, type ParsedInput } from '@muster/actions'
import { stringify } from '@muster/actions/exact-json'
import { CompiledQuery } from 'kysely'
import { addStoredBytes } from '../../../limits/stored-bytes.ts'
import { ROW_BYTES } from '../../../limits/write-budgets.ts'
import { binaryArray } from '../../client/binary-array.ts'
import type { Tx } from '../../client/connection.ts'

type SentEvent = ParsedInput<'devices_PublishEvents'>['events'][number]
/** An event as clients send it; its attributes may be their text (`RawJson`), as its body may. */
export type DeviceEvent = Omit<SentEvent, 'attributes'> & { attributes: unknown }

/** An event as it is stored. */
export type EventRow = {
  deviceId: string
  eventId: string
  /** The partition that it lies in. */
  day: string
  /** The day inside its id, where the event lies elsewhere because it was emitted late. */
  lateDay: string | null
  severity: string
  category: string | null
  body: string
  attributes: string
  /** Size of body and attributes. */
  sizeBytes: number
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
const INSERT_EVENTS = {
  name: 'ingest-events',
  text: `${INSERT_NEW_EVENTS.text} on conflict do nothing`,
}

/** When a row was emitted that is no event and claims the id of a late one: before all of them. */
export const CLAIMED_AT = '-infinity'

/**
 * As `INSERT_EVENTS`, where some events are late. Ids are unique in a partition only, so a late one first claims its id in that of
 * its day and is stored only if the id was free there: of two with one id the first is kept, whichever of them is late.
 */
const INSERT_LATE_EVENTS = {
  name: 'ingest-late-events',
  text: `
    with input as (
      select i.* from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::json[], $8::text[], $9::text[])
        as i (device_id, event_id, event_day, severity, category, body, attributes, emitted_at, late_day)
        join device using (device_id)
    ), claimed as (
      insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
      select device_id, event_id, late_day::date, severity, 'null', '{}', '${CLAIMED_AT}' from input where late_day is not null
      on conflict do nothing
      returning device_id, event_id
    )
    insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
    select device_id, event_id, event_day::date, severity, category, body, attributes, emitted_at::timestamptz
      from input
     where late_day is null or (device_id, event_id) in (select device_id, event_id from claimed)
    on conflict do nothing`,
}

/** The statement that stores events of which a device may have some already, with its parameters. */
export function insertion(rows: EventRow[], columns = eventColumns(rows)) {
  if (!hasLate(rows)) return { ...INSERT_EVENTS, values: columns }
  const lateDays = binaryArray(
    'text',
    rows.map(row => row.lateDay),
  )
  return { ...INSERT_LATE_EVENTS, values: [...columns, lateDays] }
}

/** Whether some of the events were emitted late, which `INSERT_NEW_EVENTS` does not take. */
export function hasLate(rows: EventRow[]): boolean {
  return rows.some(row => row.lateDay !== null)
}

/** The parameters of `INSERT_NEW_EVENTS`. */
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

/** Stores events of one device in a transaction. */
export async function insertEvents(tx: Tx, deviceId: string, rows: EventRow[]): Promise<void> {
  const { text, values } = insertion(rows)
  const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(text, values))
  if (!numAffectedRows) return
  await addStoredBytes(
    tx,
    deviceId,
    'event_bytes',
    rows.reduce((sum, row) => sum + row.sizeBytes + ROW_BYTES, 0),
  )
}

/** The row of an event. Throws `Invalid` for one that is too large. */
export function eventRow(deviceId: string, event: DeviceEvent): EventRow {
  const body = stringify(event.body)
  const attributes = stringify(event.attributes)
  const sizeBytes = Buffer.byteLength(body) + Buffer.byteLength(attributes)
  if (sizeBytes > MAX_EVENT_BYTES) {
    throw new ActionError(
      'Invalid',
      `The event ${event.eventId} has ${sizeBytes} bytes; at most ${MAX_EVENT_BYTES} are stored.`,
    )
  }
  const idDay = dayOf(event.eventId)
  const isLate = Date.parse(event.emittedAt) >= idDay.startMs + (MAX_DAYS_LATE + 1) * DAY_MS
  return {
    deviceId,
    eventId: event.eventId,
    day: isLate ? NO_DAY : idDay.day,
    lateDay: isLate ? idDay.day : null,
    severity: event.severity,
    category: event.category ?? null,
    body,
    attributes,
    sizeBytes,
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

/** A day in milliseconds. */
export const DAY_MS = 24 * 60 * 60 * 1000

/** The day that was asked for last: nearly all events are of today. */
let lastDay = { digits: '', day: '', startMs: 0 }

/** The UTC date inside an id, so that an event that is sent twice meets itself; `startMs` is no number where there is none. */
function dayOf(eventId: string): { day: string; startMs: number } {
  const digits = eventId.slice('d_ev_'.length, 'd_ev_'.length + 8)
  if (digits !== lastDay.digits) {
    const day = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}`
    lastDay =
      isDate(day) && day !== NO_DAY
        ? { digits, day, startMs: Date.parse(day) }
        : { digits, day: NO_DAY, startMs: Number.NaN }
  }
  return lastDay
}

/** Ids are checked for digits only. */
function isDate(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && !day.startsWith('0000')
}
