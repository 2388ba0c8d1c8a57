import { sql } from 'kysely'
import { matchesText } from '../database/client/page.ts'
import { CLAIMED_AT, DAY_MS, MAX_DAYS_LATE, NO_DAY } from '../database/queries/devices/device-events.ts'
import type { Reader } from './budget.ts'
import { atOf, comesAfter, type Start } from './place.ts'
import type { Severity } from './severity.ts'
import { type Search, type Source, type SourceRow, startBelow } from './source.ts'
import { jsonContains } from './text-search.ts'

type Row = { at: string; id: string; severity: string; day: string; is_match: boolean }

/** Row of an event. `day` is the day of its partition, in which its content is looked up. */
export type EventSourceRow = SourceRow & { day: string }

/** Reads the events of a device by the time of their emission. */
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
  return {
    rank,
    async next(limit) {
      const atMost = reader.rows(limit)
      // The condition is checked outside of the subquery, so that `limit` bounds the rows that are read, not the rows that match.
      const rows = await reader.read(sql<Row>`
        select ${atOf(sql`e.emitted_at`)} as at, e.event_id as id, e.severity, e.event_day::text as day,
               coalesce(${isMatch}, false) as is_match
          from (
            select * from device_event e
             where e.device_id = ${deviceId} and e.emitted_at > ${CLAIMED_AT}::timestamptz
               and ${comesAfter(start, sql`e.emitted_at`, sql`e.event_id`)} and ${isSince(since)}
             order by e.emitted_at desc, e.event_id desc limit ${atMost}
          ) e
         order by e.emitted_at desc, e.event_id desc`)
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

/** Condition for events since a time. The day lets PostgreSQL skip the partitions of earlier days. */
function isSince(since: string | undefined) {
  if (since === undefined) return sql<boolean>`true`
  const firstDay = new Date(Math.max(Date.parse(since) - (MAX_DAYS_LATE + 1) * DAY_MS, FIRST_DAY_MS))
  const day = firstDay.toISOString().slice(0, 10)
  return sql<boolean>`e.emitted_at >= ${since}::timestamptz
    and (e.event_day >= ${day}::date or e.event_day = ${NO_DAY}::date)`
}

/** Earliest day that the condition above uses. PostgreSQL has no year 0. */
const FIRST_DAY_MS = Date.parse('0001-01-02T00:00:00Z')
