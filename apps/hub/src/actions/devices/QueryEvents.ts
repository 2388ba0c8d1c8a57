import type { EventSeverity } from '@muster/actions'
import { type SqlBool, sql } from 'kysely'
import type { z } from 'zod'
import { MAX_DAYS_LATE, NO_DAY } from '../../database/device-events.ts'
import { queryPage, readCursor } from '../../database/page.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../times.ts'

const DEFAULT_LIMIT = 100
const ORDER = '-emittedAt'
/** How many days are looked at first, which is all that most devices need. */
const FIRST_DAYS = 2
const DAY_MS = 24 * 60 * 60 * 1000
/** The database has no days before the year 1. */
const EARLIEST_MS = Date.parse('0001-01-04T00:00:00Z')

export const devices_QueryEvents = handler(
  'devices_QueryEvents',
  async ({ db }, { deviceId, limit = DEFAULT_LIMIT, cursor }) => {
    const query = db
      .selectFrom('device_event as e')
      .where('e.device_id', '=', deviceId)
      .select([
        'e.event_id',
        'e.category',
        'e.severity',
        'e.body',
        'e.attributes',
        'e.emitted_at',
        'e.received_at',
      ])
    const sorts = { emittedAt: { by: sql`e.emitted_at`, type: 'timestamptz' } } as const
    const page = { limit, cursor, countTotal: false }
    const ask = (asked: typeof query) => queryPage(asked, page, sorts, sql`e.event_id`, ORDER)

    // Opening the partitions of all days costs more than reading ten rows, so the latest days are tried first.
    const fromMs = latestMs(cursor) - FIRST_DAYS * DAY_MS
    let { rows, ...rest } = await ask(
      query.where(sql<SqlBool>`
      (e.event_day >= ${new Date(fromMs).toISOString().slice(0, 10)}::date or e.event_day = ${NO_DAY}::date)`),
    )
    const isWhole = rest.nextCursor !== undefined && isSettled(rows.at(-1)!.emitted_at, fromMs)
    if (!isWhole) ({ rows, ...rest } = await ask(query))
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
      ...rest,
    }
  },
)

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
