import { counted } from '../../../lib/app/format.ts'
import { hourAndMinute, shortDay, utcOffset } from '../../../lib/app/local-time.ts'
import { lastNight, lastWeekend } from '../../../lib/app/out-of-hours.ts'
import { durationInWords } from '../../../lib/app/relative-time.ts'
import { anyText, oneOf, type SearchOf } from '../../../lib/app/search.ts'
import { dayAndTime, timeZone } from './log-time.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Ranges that end now and move on with the clock. */
export const MOVING = {
  hour: { label: 'Last hour', ms: HOUR_MS },
  day: { label: 'Last 24 h', ms: 24 * HOUR_MS },
  week: { label: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
} as const

export type Moving = keyof typeof MOVING

/** Search parameters of the time of a log. `from` and `to` are times or whole days. `hours` are daily hours such as `18:00-08:00`. */
export const timeSearch = {
  time: oneOf(Object.keys(MOVING) as Moving[]),
  from: anyText,
  to: anyText,
  hours: anyText,
}

/** Values of the search parameters of the time of a log. */
export type TimeSearch = SearchOf<typeof timeSearch>

/** Time from which and until which entries are shown, in milliseconds since 1970. */
export type TimeRange = { fromMs?: number; untilMs?: number }

/** Hours of the day, from and until, such as `18:00`. */
export type Hours = { from: string; to: string }

/** The time range that search parameters describe. Moving ranges begin at a full minute. */
export function rangeOf({ time, from, to }: TimeSearch, nowMs: number): TimeRange {
  if (time) return { fromMs: Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - MOVING[time].ms }
  const fromMs = from === undefined ? undefined : momentOf(from)
  const untilMs = to === undefined ? undefined : momentOf(to, 1)
  return { ...(fromMs !== undefined && { fromMs }), ...(untilMs !== undefined && { untilMs }) }
}

/** Parses the search parameter `hours`, such as `18:00-08:00`. Returns `undefined` if it is absent or invalid. */
export function hoursOf(text: string | undefined): Hours | undefined {
  const [, from, to] = /^((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)$/.exec(text ?? '') ?? []
  return from !== undefined && to !== undefined && from !== to ? { from, to } : undefined
}

/**
 * Filter of the hub's query, from search parameters. A range that ends now is sent as its length, because the browser's clock may be
 * wrong.
 */
export function timeFilter(search: TimeSearch) {
  const { fromMs, untilMs }: TimeRange = search.time ? {} : rangeOf(search, 0)
  const hours = hoursOf(search.hours)
  return {
    ...(search.time && { withinSecs: MOVING[search.time].ms / 1000 }),
    ...(fromMs !== undefined && { since: new Date(fromMs).toISOString() }),
    ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }),
    ...(hours && { hours: { ...hours, timeZone: timeZone() } }),
  }
}

/**
 * Milliseconds since 1970 of a time such as `2026-11-22T17:00:00Z`, or of the local midnight that begins a day `YYYY-MM-DD`, plus
 * `daysLater` days. Ignores other texts, and dates whose year is still being typed, such as `0002-11-24`.
 */
function momentOf(text: string, daysLater = 0): number | undefined {
  if (/^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z$/.test(text)) {
    const ms = Date.parse(text)
    return Number.isNaN(ms) ? undefined : ms
  }
  const [, year, month, date] = /^([1-9]\d{3})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (!date) return undefined
  return new Date(Number(year), Number(month) - 1, Number(date) + daysLater).getTime()
}

/** A range in few words for the button that opens the filter. */
export function rangeLabel(search: TimeSearch, nowMs: number): string {
  const hours = hoursOf(search.hours)
  const end = hours ? `, ${hours.from} to ${hours.to} each day` : ''
  if (search.time) return MOVING[search.time].label + end
  const range = rangeOf(search, nowMs)
  if (isSame(range, lastNight(nowMs))) return `Last night, 18:00 to 08:00${end}`
  if (isSame(range, lastWeekend(nowMs))) return `Last weekend${end}`
  const { fromMs, untilMs } = range
  const words = [
    fromMs !== undefined && `from ${moment(fromMs)}`,
    untilMs !== undefined && `to ${moment(untilMs)}`,
  ]
  const text = words.filter(Boolean).join(' ')
  if (text === '') return hours ? `${hours.from} to ${hours.to} each day` : 'Any time'
  return text.replace(/^from (.*) to /, '$1 to ').replace(/^[a-z]/, first => first.toUpperCase()) + end
}

/** Whether two ranges are equal. */
export function isSame(a: TimeRange, b: TimeRange): boolean {
  return a.fromMs === b.fromMs && a.untilMs === b.untilMs
}

function moment(atMs: number): string {
  return `${shortDay(atMs)} ${hourAndMinute(atMs)}`
}

/**
 * A range in words: `when` as "Sunday 22 November 18:00 to Monday 23 November 08:00, your time (UTC+1).", and `lengths` as "14 hours" and,
 * of a range that has not ended, "32 min so far".
 */
export function rangeWords(
  { fromMs, untilMs }: TimeRange,
  nowMs: number,
): { when: string; lengths: string[] } {
  const from = fromMs === undefined ? 'From the beginning' : dayAndTime(fromMs)
  const until = untilMs === undefined ? 'now' : dayAndTime(untilMs)
  // A range across a change to or from summer time has two UTC offsets.
  const offsets = [...new Set([fromMs ?? untilMs ?? nowMs, untilMs ?? nowMs].map(utcOffset))].join(', then ')
  const isRunning = fromMs !== undefined && untilMs !== undefined && fromMs <= nowMs && nowMs < untilMs
  return {
    when: `${from} to ${until}, your time (${offsets}).`,
    lengths: [
      ...(fromMs !== undefined && untilMs !== undefined ? [lengthOf(untilMs - fromMs)] : []),
      ...(isRunning ? [`${durationInWords((nowMs - fromMs) / 1000)} so far`] : []),
    ],
  }
}

function lengthOf(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS)
  if (minutes < 60) return counted(minutes, 'minute')
  const hours = Math.round(ms / HOUR_MS)
  return hours < 49 ? counted(hours, 'hour') : counted(Math.round(hours / 24), 'day')
}
