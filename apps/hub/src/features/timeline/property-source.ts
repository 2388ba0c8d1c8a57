import type { RawJson } from '@muster/actions/exact-json'
import { LABELS } from '@muster/predicates'
import { sql } from 'kysely'
import { OTA_STATUS } from '../../link/telemetry/device-updates.ts'
import { matchesText } from '../../platform/database/client/page.ts'
import { matchesPerson } from '../audit/index.ts'
import type { Reader } from './budget.ts'
import { type At, atOf, atOfTime, comesAfter, type Start } from './place.ts'
import type { Severity } from './severity.ts'
import { type Search, type Source, type SourceRow, startBelow } from './source.ts'
import { jsonContains } from './text-search.ts'

/** Property in which a device reports its health (docs/protocol.md 4.3). */
const HEALTH = 'dev.nexigon.system.health'
/** Maximum size, in bytes, of a JSON value from which a severity is read. */
const MAX_READ_BYTES = 64 * 1024

const HOUR_MS = 3_600_000
/** First length of the time window whose changes are read, in milliseconds. */
const FIRST_WINDOW_MS = 6 * HOUR_MS
/** Windows grow while they contain few rows, up to 256 days. The window after that has no beginning: it contains all earlier changes. */
const LONGEST_WINDOW_MS = 256 * 24 * HOUR_MS
/** Shortest length of a window, in milliseconds. Such a window is read in sort order, even if it has more rows than the limit. */
const SHORTEST_WINDOW_MS = 1_000
/** Factor by which a window is lengthened or shortened. */
const GROWTH = 4

type Row = {
  at: At
  id: string
  name: string
  version: number
  is_person: boolean
  is_match: boolean
  value: RawJson | null
}

/** Row of a changed property. Its name, its version and its time identify the change. */
export type PropertySourceRow = SourceRow & { name: string; version: number }

/**
 * Reads the changes of all properties of a device, except for its labels: an audit event says which label a person changed. The index of the history has the name before the time, so the source reads the rows of
 * one time window after another and sorts them. A window with more rows than the limit is shortened, and a window with few rows is
 * followed by a longer one.
 */
export function propertySource(
  reader: Reader,
  rank: number,
  search: Search,
  first: Start | undefined,
): Source<PropertySourceRow> {
  const { since } = search
  const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since)
  let start = first
  let windowMs = FIRST_WINDOW_MS
  return {
    rank,
    async next(limit) {
      for (;;) {
        const atMost = reader.rows(limit)
        const endMs = start ? Math.ceil(Date.parse(start.at)) : Date.now()
        const beginMs = Math.max(endMs - windowMs, sinceMs)
        const isLast = beginMs === sinceMs || windowMs > LONGEST_WINDOW_MS
        const from = isLast ? since : timeAt(beginMs)
        const isShort = !isLast && windowMs <= SHORTEST_WINDOW_MS
        const rows = await reader.read(changes(search, start, from, atMost + 1, isShort))
        if (rows.length > atMost && !isShort) {
          windowMs = Math.max(SHORTEST_WINDOW_MS, Math.min(windowMs, endMs - beginMs) / GROWTH)
          continue
        }
        const found = rows.slice(0, atMost).map(rowOf)
        if (rows.length > atMost || found.length === atMost) start = startBelow(found, start)
        else start = from === undefined ? start : { at: atOfTime(from), isIncluded: false }
        const isEnd = isLast && rows.length <= atMost
        if (found.length < atMost / GROWTH) windowMs *= GROWTH
        if (found.length > 0 || isEnd) return { rows: found, isEnd }
      }
    },
  }
}

/**
 * Reads the changes of a window, newest first. With `isSorted`, these are the newest `limit` changes. Without it, the statement stops after
 * any `limit` changes, so that a window with very many changes costs little.
 */
function changes(
  { deviceId, organizationId, text, category }: Search,
  start: Start | undefined,
  from: string | undefined,
  limit: number,
  isSorted: boolean,
) {
  const id = sql`(c.name || ' ' || c.version)`
  const order = sql`c.changed_at desc, ${id} desc`
  const isMatch =
    category !== undefined
      ? sql`false`
      : text === undefined
        ? sql`true`
        : sql`(${matchesText(text, sql`c.name`)} or coalesce(${jsonContains(text, sql`c.value`)}, false)
            or exists (select from "user" u where u.user_id = c.actor ->> 'userId'
                         and ${matchesPerson(text, { organizationId })}))`
  return sql<Row>`
    with c as materialized (
      select * from device_property_change c
       where c.device_id = ${deviceId} and ${comesAfter(start, sql`c.changed_at`, id)}
         and (c.name <> ${LABELS} or c.actor ->> 'deviceId' is not null)
         and ${start ? sql`c.changed_at <= ${start.at}::timestamptz` : sql`true`}
         and ${from === undefined ? sql`true` : sql`c.changed_at >= ${from}::timestamptz`}
       ${isSorted ? sql`order by ${order}` : sql``} limit ${limit}
    )
    select ${atOf(sql`c.changed_at`)} as at, ${id} as id, c.name, c.version,
           c.actor ->> 'userId' is not null as is_person, ${isMatch} as is_match,
           case when c.name in (${HEALTH}, ${OTA_STATUS}) and octet_length(c.value::text) <= ${MAX_READ_BYTES}::integer
                then c.value end as value
      from c
     order by ${order}`
}

function rowOf({ at, id, name, version, is_person, is_match, value }: Row): PropertySourceRow {
  return {
    at,
    id,
    name,
    version,
    kind: is_person ? 'person' : 'property',
    severity: value ? severityOf(name, value.parse()) : 'Info',
    isMatch: is_match,
  }
}

/** Severity of a value in which a device reports its health or its update. */
function severityOf(name: string, value: unknown): Severity {
  const { status, state } = (typeof value === 'object' && value !== null ? value : {}) as {
    status?: unknown
    state?: unknown
  }
  if (name === OTA_STATUS) return state === 'failed' ? 'Error' : state === 'rollback' ? 'Warning' : 'Info'
  if (status === 'error') return 'Error'
  return status === 'degraded' ? 'Warning' : 'Info'
}

/** Converts milliseconds since 1970 to an ISO timestamp for SQL. Times before the year 1 become the start of the year 1. */
function timeAt(ms: number): string {
  return new Date(Math.max(ms, Date.parse('0001-01-01T00:00:00Z'))).toISOString()
}
