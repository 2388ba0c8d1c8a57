import { type EventSeverity, MAX_ACTION_BODY_BYTES } from '@muster/actions'
import { type SqlBool, sql } from 'kysely'
import type { z } from 'zod'
import { type Db, select } from '../../database/client/connection.ts'
import { cutPage, queryPage, type RowPlace, readCursor, rowsWithin } from '../../database/client/page.ts'
import { CLAIMED_AT, DAY_MS, MAX_DAYS_LATE, NO_DAY } from '../../database/queries/devices/device-events.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../runtime/times.ts'

/** The largest events of a page of so many fit a body (`MAX_EVENT_BYTES`), with what stands around them. */
const DEFAULT_LIMIT = 100
/** Bodies and attributes of a longer page; the rest of the largest body is for what stands around them. */
const MAX_BODIES_BYTES = MAX_ACTION_BODY_BYTES / 2
const ORDER = '-emittedAt'
/** Days that the first query covers. Most devices have enough events in them. */
const FIRST_DAYS = 2
/** The database has no days before the year 1. */
const EARLIEST_MS = Date.parse('0001-01-04T00:00:00Z')

/** Largest page that uses the shared connection of look-ups. Bodies of ten events have at most 640 KiB. */
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

/** Events since a day, and those of the default partition. */
const LATEST = `
  select event_id, category, severity, body, attributes, emitted_at, received_at,
         emitted_at::text as "__key", event_id as "__id"
    from device_event
   where device_id = $1 and emitted_at > '${CLAIMED_AT}' and (event_day >= $2::date or event_day = '${NO_DAY}'::date)
   order by emitted_at desc, event_id desc limit $3`

export const devices_QueryEvents = handler(
  'devices_QueryEvents',
  async ({ db }, { deviceId, limit = DEFAULT_LIMIT, cursor }) => {
    // Opening the partitions of all days costs more than reading ten rows, so the latest days are tried first.
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

/** A page of a device's events, of those from a day on or of all. */
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
    // Events may be large: a page ends before they are more than a body holds, and the next one goes on there.
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

/** From when on there is nothing more to tell. */
function latestMs(cursor: string | undefined): number {
  if (cursor === undefined) return Date.now()
  const [time] = readCursor(cursor, ORDER)
  // PostgreSQL writes the time that JavaScript reads, but for the letter and the minutes of the zone.
  const ms = Date.parse(`${time.replace(' ', 'T')}:00`)
  return Number.isNaN(ms) ? Date.now() : Math.max(ms, EARLIEST_MS)
}

/** Whether all events that were emitted as late are in the days from `fromMs` on. */
function isSettled(emittedAt: Date, fromMs: number): boolean {
  return emittedAt.getTime() >= fromMs + MAX_DAYS_LATE * DAY_MS
}
