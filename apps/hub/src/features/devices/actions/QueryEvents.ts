import { type EventSeverity, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import type { z } from 'zod'
import { DAY_MS, MAX_DAYS_LATE } from '../../../link/telemetry/device-events.ts'
import { clockErrorSecs } from '../../../link/telemetry/event-times.ts'
import { type Db, select } from '../../../platform/database/client/connection.ts'
import { cutPage, type RowPlace, readCursor, rowsWithin } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTimeOf } from '../../../platform/runtime/times.ts'
import { eventsByTime } from '../events-by-time.ts'

/** Default page size, in events. 100 events of the largest size (`MAX_EVENT_BYTES`, 64 KiB) fit into an answer of 8 MiB. */
const DEFAULT_LIMIT = 100
/**
 * Largest total size of bodies and attributes in a page of more than `DEFAULT_LIMIT` events, in bytes. The remaining fields get the other
 * half of the largest answer.
 */
const MAX_BODIES_BYTES = MAX_ACTION_BODY_BYTES / 2
const ORDER = '-emittedAt'
/** Number of days that the first query covers. For most devices these days contain enough events for a page. */
const FIRST_DAYS = 2
/**
 * Number of days that a second query for a small first page covers, for devices with about an event a day. A query for all of 90 days costs
 * 3.4 ms of PostgreSQL, one for few days 0.2 ms.
 */
const NEXT_DAYS = 16
/**
 * Earliest time that `latestMs` returns, in milliseconds since 1970. The first query begins `FIRST_DAYS` earlier. That day must
 * be in the year 1, because PostgreSQL has no year 0.
 */
const EARLIEST_MS = Date.parse('0001-01-04T00:00:00Z')

/**
 * Largest page, in events, that is read over the connection for look-ups (`platform/database/client/look-ups.ts`). All requests share this
 * connection, so the page must be small: ten events have at most 640 KiB.
 */
const MAX_LOOK_UP = 10

type Row = RowPlace & {
  event_id: string
  category: string | null
  severity: string
  body: unknown
  attributes: unknown
  emitted_at: string
  received_at: string
  clock_error_secs: number | null
}

const CONTENT = sql.raw(
  'e.event_id, e.category, e.severity, e.body, e.attributes, e.emitted_at, e.received_at',
)
const SIZE = sql.raw('e.event_id, octet_length(e.body::text) + octet_length(e.attributes::text) as bytes')

/**
 * Texts of the queries for a first page of at most `MAX_LOOK_UP` events, by the number of days. They are kept for a day, because building takes
 * as long as running. The first day is a part of the text: as a parameter it would make PostgreSQL lock the partitions of all days.
 */
const latest = new Map<number, { fromDay: string; text: string }>()

/** Lists events of a device, latest first. */
export const devices_QueryEvents = handler(
  'devices_QueryEvents',
  async ({ db }, { deviceId, limit = DEFAULT_LIMIT, cursor }) => {
    const asked = { limit, cursor }
    const isSmall = cursor === undefined && limit <= MAX_LOOK_UP
    const { rows, nextCursor } =
      (await pageOfDays(db, deviceId, asked, FIRST_DAYS)) ??
      (isSmall ? await pageOfDays(db, deviceId, asked, NEXT_DAYS) : undefined) ??
      (await pageOf(db, deviceId, asked))
    return {
      events: rows.map(row => ({
        eventId: row.event_id,
        category: row.category ?? undefined,
        severity: row.severity as z.output<typeof EventSeverity>,
        body: row.body,
        attributes: row.attributes,
        emittedAt: wireTimeOf(row.emitted_at),
        receivedAt: wireTimeOf(row.received_at),
        clockErrorSecs: row.clock_error_secs ?? undefined,
      })),
      nextCursor,
    }
  },
)

type EventPage = { rows: Row[]; nextCursor?: string }

/**
 * Reads a page from the latest days only, because opening the partitions of all days costs more than reading ten rows. Resolves to undefined
 * if these days do not have the whole page.
 */
async function pageOfDays(
  db: Db,
  deviceId: string,
  { limit, cursor }: PageOptions,
  days: number,
): Promise<EventPage | undefined> {
  const fromMs = latestMs(cursor) - days * DAY_MS
  const fromDay = new Date(fromMs).toISOString().slice(0, 10)
  const page: EventPage =
    cursor === undefined && limit <= MAX_LOOK_UP
      ? cutPage(await latestOf(db, deviceId, { fromDay, days, limit: limit + 1 }), limit, ORDER)
      : await pageOf(db, deviceId, { limit, cursor, fromDay })
  const isWhole = page.nextCursor !== undefined && isSettled(msOf(page.rows.at(-1)!.__key), fromMs)
  return isWhole ? page : undefined
}

type Latest = { fromDay: string; days: number; limit: number }

/** Reads the latest events of the days since `fromDay` and of the default partition, which holds late events. */
function latestOf(db: Db, deviceId: string, { fromDay, days, limit }: Latest): Promise<Row[]> {
  let known = latest.get(days)
  if (known?.fromDay !== fromDay) {
    const query = eventsQuery({
      deviceId: sql.raw('$1::text'),
      fromDay: sql.lit(fromDay),
      limit: sql.raw('$2::bigint'),
      comesAfter: () => sql<boolean>`true`,
      columns: CONTENT,
    })
    known = { fromDay, text: query.compile(db).sql }
    latest.set(days, known)
  }
  return select<Row>(db, known.text, [deviceId, limit])
}

type PageOptions = { limit: number; cursor: string | undefined; fromDay?: string }

/** Reads a page of a device's events, from `fromDay` on or from all days. */
async function pageOf(db: Db, deviceId: string, { fromDay, limit, cursor }: PageOptions) {
  const last = cursor === undefined ? undefined : readCursor(cursor, ORDER)
  const options = {
    deviceId: sql`${deviceId}::text`,
    fromDay: fromDay === undefined ? undefined : sql`${fromDay}`,
    comesAfter: (time: RawBuilder<unknown>) =>
      last
        ? sql<boolean>`(${time}, e.event_id) < (${last[0]}::timestamptz, ${last[1]}::text)`
        : sql<boolean>`true`,
  }
  let length = limit
  if (limit > DEFAULT_LIMIT) {
    const sizes = sql<{ bytes: number }>`
      select bytes from ${eventsByTime({ ...options, columns: SIZE, limit: sql`${limit}::bigint` })} e
       order by e.listed_at desc, e.event_id desc limit ${limit}::bigint`
    const { rows: measured } = await sizes.execute(db)
    // Shortens the page to `MAX_BODIES_BYTES` of events, but never below the default limit. The next page begins with the first event
    // that was left out.
    length = Math.min(limit, Math.max(DEFAULT_LIMIT, rowsWithin(MAX_BODIES_BYTES, measured)))
  }
  const query = eventsQuery({ ...options, columns: CONTENT, limit: sql`${length + 1}::bigint` })
  return cutPage((await query.execute(db)).rows, length, ORDER)
}

/** Query for events with their places in the list. */
function eventsQuery(options: Parameters<typeof eventsByTime>[0]): RawBuilder<Row> {
  return sql<Row>`
    select e.event_id, e.category, e.severity, e.body, e.attributes, e.emitted_at::text, e.received_at::text,
           ${clockErrorSecs(options.deviceId)} as clock_error_secs, e.listed_at::text as "__key", e.event_id as "__id"
      from ${eventsByTime(options)} e
     order by e.listed_at desc, e.event_id desc limit ${options.limit}`
}

/** Time of the event that the cursor points to, in milliseconds since 1970. Without a cursor, the current time. */
function latestMs(cursor: string | undefined): number {
  if (cursor === undefined) return Date.now()
  const [time] = readCursor(cursor, ORDER)
  const ms = msOf(time)
  return Number.isNaN(ms) ? Date.now() : Math.max(ms, EARLIEST_MS)
}

/** Milliseconds since 1970 of a time as PostgreSQL writes it. */
function msOf(time: string): number {
  // PostgreSQL writes `2026-01-02 03:04:05+00`. ISO 8601 has a `T` in place of the space and `+00:00` as offset.
  return Date.parse(`${time.replace(' ', 'T')}:00`)
}

/**
 * Returns whether a query over the days since `fromMs` reads every event that is listed at `listedAtMs` or later. The partition of an
 * event is at most `MAX_DAYS_LATE` days older than the event, or every query reads it.
 */
function isSettled(listedAtMs: number, fromMs: number): boolean {
  return listedAtMs >= fromMs + MAX_DAYS_LATE * DAY_MS
}
