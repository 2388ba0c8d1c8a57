import { type EventSeverity, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import { type SqlBool, sql } from 'kysely'
import type { z } from 'zod'
import { type Db, select } from '../../database/client/connection.ts'
import { cutPage, queryPage, type RowPlace, readCursor, rowsWithin } from '../../database/client/page.ts'
import { CLAIMED_AT, DAY_MS, MAX_DAYS_LATE, NO_DAY } from '../../database/queries/devices/device-events.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../runtime/times.ts'

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
 * Earliest time that `latestMs` returns, in milliseconds since 1970. The first query begins `FIRST_DAYS` earlier. That day must
 * be in the year 1, because PostgreSQL has no year 0.
 */
const EARLIEST_MS = Date.parse('0001-01-04T00:00:00Z')

/**
 * Largest page, in events, that is read over the connection for look-ups (`database/client/look-ups.ts`). All requests share this
 * connection, so the page must be small: ten events have at most 640 KiB.
 */
const MAX_LOOK_UP = 10

type Row = {
  event_id: string
  category: string | null
  severity: string
  body: unknown
  attributes: unknown
  emitted_at: Date
  received_at: Date
}

/** Reads events from the partitions of the days since `$2` and from the default partition, which holds late events. */
const LATEST = `
  select event_id, category, severity, body, attributes, emitted_at, received_at,
         emitted_at::text as "__key", event_id as "__id"
    from device_event
   where device_id = $1 and emitted_at > '${CLAIMED_AT}' and (event_day >= $2::date or event_day = '${NO_DAY}'::date)
   order by emitted_at desc, event_id desc limit $3`

/** Lists events of a device, latest first. */
export const devices_QueryEvents = handler(
  'devices_QueryEvents',
  async ({ db }, { deviceId, limit = DEFAULT_LIMIT, cursor }) => {
    // Opening the partitions of all days costs more than reading ten rows, so the first query covers only the latest days.
    const fromMs = latestMs(cursor) - FIRST_DAYS * DAY_MS
    const fromDay = new Date(fromMs).toISOString().slice(0, 10)
    const isWhole = ({ rows, nextCursor }: { rows: Row[]; nextCursor?: string }): boolean =>
      nextCursor !== undefined && isSettled(rows.at(-1)!.emitted_at, fromMs)
    const firstDays =
      cursor === undefined && limit <= MAX_LOOK_UP
        ? cutPage(await select<Row & RowPlace>(db, LATEST, [deviceId, fromDay, limit + 1]), limit, ORDER)
        : await pageOf(db, deviceId, { limit, cursor, fromDay })
    const { rows, nextCursor } = isWhole(firstDays)
      ? firstDays
      : await pageOf(db, deviceId, { limit, cursor })
    return {
      events: rows.map(row => ({
        eventId: row.event_id,
        category: row.category ?? undefined,
        severity: row.severity as z.output<typeof EventSeverity>,
        body: row.body,
        attributes: row.attributes,
        emittedAt: wireTime(row.emitted_at),
        receivedAt: wireTime(row.received_at),
      })),
      nextCursor,
    }
  },
)

type PageOptions = { limit: number; cursor: string | undefined; fromDay?: string }

/** Reads a page of a device's events, from `fromDay` on or from all days. */
async function pageOf(db: Db, deviceId: string, { fromDay, limit, cursor }: PageOptions) {
  const sorts = { emittedAt: { by: sql`e.emitted_at`, type: 'timestamptz' } } as const
  const page = { limit, cursor, countTotal: false }
  const events = db
    .selectFrom('device_event as e')
    .where('e.device_id', '=', deviceId)
    .where(sql<SqlBool>`e.emitted_at > ${CLAIMED_AT}::timestamptz`)
    .$if(fromDay !== undefined, all =>
      all.where(sql<SqlBool>`(e.event_day >= ${fromDay}::date or e.event_day = ${NO_DAY}::date)`),
    )
  if (limit > DEFAULT_LIMIT) {
    const sizes = events.select(
      sql<number>`octet_length(e.body::text) + octet_length(e.attributes::text)`.as('bytes'),
    )
    const { rows: measured } = await queryPage(sizes, page, sorts, sql`e.event_id`, ORDER)
    // Shortens the page to `MAX_BODIES_BYTES` of events, but never below the default limit. The next page begins with the first event
    // that was left out.
    page.limit = Math.max(DEFAULT_LIMIT, rowsWithin(MAX_BODIES_BYTES, measured))
  }
  const columns = events.select([
    'e.event_id',
    'e.category',
    'e.severity',
    'e.body',
    'e.attributes',
    'e.emitted_at',
    'e.received_at',
  ])
  return queryPage(columns, page, sorts, sql`e.event_id`, ORDER)
}

/** Time of the event that the cursor points to, in milliseconds since 1970. Without a cursor, the current time. */
function latestMs(cursor: string | undefined): number {
  if (cursor === undefined) return Date.now()
  const [time] = readCursor(cursor, ORDER)
  // PostgreSQL writes `2026-01-02 03:04:05+00`. ISO 8601 has a `T` in place of the space and `+00:00` as offset.
  const ms = Date.parse(`${time.replace(' ', 'T')}:00`)
  return Number.isNaN(ms) ? Date.now() : Math.max(ms, EARLIEST_MS)
}

/**
 * Returns whether a query over the days since `fromMs` reads every event emitted at `emittedAt` or later. The partition of an
 * event is at most `MAX_DAYS_LATE` days older than the event, or it is the default partition, which every query reads.
 */
function isSettled(emittedAt: Date, fromMs: number): boolean {
  return emittedAt.getTime() >= fromMs + MAX_DAYS_LATE * DAY_MS
}
