import { type RawBuilder, sql } from 'kysely'
import { DAY_MS, MAX_DAYS_LATE } from '../../link/telemetry/device-events.ts'
import { matchesText } from '../../platform/database/client/page.ts'
import { eventsByTime } from '../devices/index.ts'
import type { Reader } from './budget.ts'
import { atOf, comesAfter, type Start } from './place.ts'
import type { Severity } from './severity.ts'
import { type Search, type Source, type SourceRow, startBelow } from './source.ts'
import { jsonContains } from './text-search.ts'

type Row = { at: string; id: string; severity: string; day: string; is_match: boolean }

/** Row of an event. `day` is the day of its partition, in which its content is looked up. */
export type EventSourceRow = SourceRow & { day: string }

/** Reads the events of a device by the time of their emission, or of their receipt if that time is implausible. */
export function eventSource(
  reader: Reader,
  rank: number,
  search: Search,
  first: Start | undefined,
): Source<EventSourceRow> {
  const { deviceId, text, category, since } = search
  let start = first
  const conditions = [
    text === undefined
      ? undefined
      : sql`(${jsonContains(text, sql`e.body`)} or ${jsonContains(text, sql`e.attributes`)} or ${matchesText(text, sql`coalesce(e.category, '')`)})`,
    category === undefined ? undefined : sql`e.category = ${category}`,
  ].filter(condition => condition !== undefined)
  const isMatch = sql<boolean>`${sql.join([sql`true`, ...conditions], sql` and `)}`
  const isSince = (time: RawBuilder<unknown>): RawBuilder<boolean> =>
    since === undefined ? sql<boolean>`true` : sql<boolean>`${time} >= ${since}::timestamptz`
  return {
    rank,
    async next(limit) {
      const atMost = reader.rows(limit)
      // `isMatch` is checked outside of the subquery, so that `limit` bounds the rows that are read, not the rows that match.
      const events = eventsByTime({
        deviceId: sql`${deviceId}::text`,
        limit: sql`${atMost}::bigint`,
        comesAfter: time => sql<boolean>`${comesAfter(start, time, sql`e.event_id`)} and ${isSince(time)}`,
        fromDay: since === undefined ? undefined : sql`${firstDayOf(since)}`,
        columns: sql`e.*`,
      })
      const rows = await reader.read(sql<Row>`
        select ${atOf(sql`e.listed_at`)} as at, e.event_id as id, e.severity, e.event_day::text as day,
               coalesce(${isMatch}, false) as is_match
          from (select * from ${events} e order by e.listed_at desc, e.event_id desc limit ${atMost}::bigint) e
         order by e.listed_at desc, e.event_id desc`)
      const found = rows.map(({ is_match, severity, ...row }) => ({
        ...row,
        kind: 'event' as const,
        severity: severity as Severity,
        isMatch: is_match,
      }))
      start = startBelow(found, start)
      return { rows: found, isEnd: rows.length < atMost }
    },
  }
}

/** First day whose partition may have events since a time. PostgreSQL skips the partitions of earlier days. */
function firstDayOf(since: string): string {
  const firstDay = new Date(Math.max(Date.parse(since) - (MAX_DAYS_LATE + 1) * DAY_MS, FIRST_DAY_MS))
  return firstDay.toISOString().slice(0, 10)
}

/** Earliest day that `firstDayOf` returns. PostgreSQL has no year 0. */
const FIRST_DAY_MS = Date.parse('0001-01-02T00:00:00Z')
