import { ActionError, MAX_EVENT_BYTES, type ParsedInput } from '@muster/actions'
import { CompiledQuery } from 'kysely'
import { binaryArray } from '../../platform/database/client/binary-array.ts'
import type { Tx } from '../../platform/database/client/connection.ts'
import { addStoredBytes } from '../../platform/limits/stored-bytes.ts'
import { ROW_BYTES } from '../../platform/limits/write-budgets.ts'
import { isPlausible, isSurelyPlausible, WRONG_CLOCK_DAY } from './event-times.ts'

type SentEvent = ParsedInput<'devices_PublishEvents'>['events'][number]
/** An event as clients send it, with body and attributes as the JSON text that they sent. */
export type DeviceEvent = Omit<SentEvent, 'body' | 'attributes'> & { body: string; attributes: string }

/** An event as it is stored. */
export type EventRow = {
  deviceId: string
  eventId: string
  /** Date in the id of the event. Its partition stores the event, or only the id of an odd event. */
  day: string
  /** Whether the event was emitted more than `MAX_DAYS_LATE` days after the date in its id. */
  isLate: boolean
  /** Whether the event may belong into another partition than that of its day: it is late, or its time may be implausible. */
  isOdd: boolean
  severity: string
  category: string | null
  body: string
  attributes: string
  /** Size of body and attributes as JSON text, in bytes. */
  sizeBytes: number
  emittedAt: string
}

/** Inserts events of many devices, except those of deleted devices. Fails with `unique_violation` when an event is already stored. */
export const INSERT_NEW_EVENTS = {
  name: 'ingest-new-events',
  text: `
    insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
    select i.device_id, i.event_id, i.event_day::date, i.severity, i.category, i.body, i.attributes, i.emitted_at::timestamptz
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::json[], $8::text[])
        as i (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
      join device using (device_id)`,
}

/** Like `INSERT_NEW_EVENTS`, but skips events that are already stored. Takes a quarter more time per event. */
const INSERT_EVENTS = {
  name: 'ingest-events',
  text: `${INSERT_NEW_EVENTS.text} on conflict do nothing`,
}

/** Day under which late events, and events whose id has no date, are stored. Its rows are in the default partition. */
export const NO_DAY = '0001-01-01'

/** `emitted_at` of a row that only reserves the id of an event in another partition. No event has this time, so lists skip the row. */
export const CLAIMED_AT = '-infinity'

const TIMES = { emittedAt: 'i.emitted_at::timestamptz', receivedAt: 'now()', firstSeen: 'd.first_seen' }

/**
 * Like `INSERT_EVENTS`, but also for odd events (`EventRow.isOdd`). Events with an implausible time are stored under `WRONG_CLOCK_DAY`, late
 * events under `NO_DAY`. Ids are unique only within a partition, so such an event first reserves its id in the partition of the date in
 * its id. The event is stored only if the id was free. If two events have the same id, the first event is kept, wherever it is stored.
 */
const ODD_INPUT = `
    with input as (
      select i.*, case when not ${isPlausible(TIMES)} then date '${WRONG_CLOCK_DAY}'
                       when i.is_late then date '${NO_DAY}' else i.id_day::date end as event_day
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::json[], $8::text[], $9::bool[])
          as i (device_id, event_id, id_day, severity, category, body, attributes, emitted_at, is_late)
        join device d using (device_id)
    ), claimed as (
      insert into device_event (device_id, event_id, event_day, severity, body, attributes, emitted_at)
      select device_id, event_id, id_day::date, severity, 'null', '{}', '${CLAIMED_AT}' from input where event_day <> id_day::date
      on conflict do nothing
      returning device_id, event_id
    )`
const INSERT_INPUT = `
    insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
    select device_id, event_id, event_day, severity, category, body, attributes, emitted_at::timestamptz
      from input
     where event_day = id_day::date or (device_id, event_id) in (select device_id, event_id from claimed)
    on conflict do nothing`
const INSERT_ODD_EVENTS = { name: 'ingest-odd-events', text: `${ODD_INPUT} ${INSERT_INPUT}` }

/** Events of a row of `event_export`, and bytes of their bodies and attributes, at most. An event more may exceed the bytes. */
export const EXPORT_ROW = { events: 512, bytes: 256 * 1024 }

/** The other part of a statement that stores events of projects whose events are exported: keeps the keys of the new ones for the export. */
const EXPORT = `
    insert into event_export (project_id, device_ids, event_ids, event_days, bytes)
    select project_id, array_agg(device_id), array_agg(event_id), array_agg(event_day::text), sum(bytes)
      from (select d.project_id, s.*, row_number() over kept - 1 as nth, sum(s.bytes) over kept as total
              from stored s join device d using (device_id)
            window kept as (partition by d.project_id rows unbounded preceding)) s
     group by project_id, nth / ${EXPORT_ROW.events}, total / ${EXPORT_ROW.bytes}`
const RETURNING =
  'returning device_id, event_id, event_day, octet_length(body::text) + octet_length(attributes::text) as bytes'

/** Like `INSERT_NEW_EVENTS`, for projects whose events are exported. */
export const EXPORT_NEW_EVENTS = {
  name: 'export-new-events',
  text: `with stored as (${INSERT_NEW_EVENTS.text} ${RETURNING}) ${EXPORT}`,
}
const EXPORT_EVENTS = {
  name: 'export-events',
  text: `with stored as (${INSERT_EVENTS.text} ${RETURNING}) ${EXPORT}`,
}
const EXPORT_ODD_EVENTS = {
  name: 'export-odd-events',
  text: `${ODD_INPUT}, stored as (${INSERT_INPUT} ${RETURNING}) ${EXPORT}`,
}

/**
 * Statement and parameters that store events, some of which may be stored already. With `isExported` it also keeps the keys of the new ones
 * for the export of their project.
 */
export function insertion(rows: EventRow[], isExported: boolean, columns = eventColumns(rows)) {
  if (!rows.some(row => row.isOdd))
    return { ...(isExported ? EXPORT_EVENTS : INSERT_EVENTS), values: columns }
  const areLate = rows.map(row => row.isLate)
  return { ...(isExported ? EXPORT_ODD_EVENTS : INSERT_ODD_EVENTS), values: [...columns, areLate] }
}

/** Parameters of `INSERT_NEW_EVENTS`. */
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

/** Stores events of one device in a transaction and adds to its count of stored bytes. */
export async function insertEvents(
  tx: Tx,
  { deviceId, isExported }: { deviceId: string; isExported: boolean },
  rows: EventRow[],
): Promise<void> {
  const { text, values } = insertion(rows, isExported)
  const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(text, values))
  if (!numAffectedRows) return
  await addStoredBytes(
    tx,
    deviceId,
    'event_bytes',
    rows.reduce((sum, row) => sum + row.sizeBytes + ROW_BYTES, 0),
  )
}

/** Converts an event to its row. Throws `Invalid` for an event of more than `MAX_EVENT_BYTES`. */
export function eventRow(deviceId: string, event: DeviceEvent): EventRow {
  const { body, attributes } = event
  const sizeBytes = Buffer.byteLength(body) + Buffer.byteLength(attributes)
  if (sizeBytes > MAX_EVENT_BYTES) {
    throw new ActionError(
      'Invalid',
      `The event ${event.eventId} has ${sizeBytes} bytes; at most ${MAX_EVENT_BYTES} are stored.`,
    )
  }
  const idDay = dayOf(event.eventId)
  const emittedAtMs = Date.parse(event.emittedAt)
  const isLate = emittedAtMs >= idDay.startMs + (MAX_DAYS_LATE + 1) * DAY_MS
  return {
    deviceId,
    eventId: event.eventId,
    day: idDay.day,
    isLate,
    isOdd: isLate || !isSurelyPlausible(emittedAtMs),
    severity: event.severity,
    category: event.category ?? null,
    body,
    attributes,
    sizeBytes,
    emittedAt: event.emittedAt,
  }
}

/**
 * Maximum number of days from the date in an event's id to the event's emission. Around midnight the difference can be one day.
 * Events with a greater difference are stored under `NO_DAY`. A device's latest events are therefore all in the partitions of
 * the latest days and of `NO_DAY`.
 */
export const MAX_DAYS_LATE = 1
/** A day in milliseconds. */
export const DAY_MS = 24 * 60 * 60 * 1000

/** Last result of `dayOf`, kept because nearly all events are of today. */
let lastDay = { digits: '', day: '', startMs: 0 }

/**
 * UTC date in an event's id. It selects the partition, so that a repeated event is in the same partition as the stored event and is
 * recognized. Without a date `startMs` is NaN.
 */
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

/** Whether the calendar has this day. The schema of ids checks only for digits. */
function isDate(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && !day.startsWith('0000')
}
