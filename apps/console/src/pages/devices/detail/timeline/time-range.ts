import { localMinute } from '../../../../lib/app/local-time.ts'
import { lastNight } from '../../../../lib/app/out-of-hours.ts'
import { anyText, oneOf, type SearchOf } from '../../../../lib/app/search.ts'

export const RANGES = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 h' },
  { value: 'night', label: 'Last night' },
  { value: '7d', label: '7 d' },
  { value: '30d', label: '30 d' },
  { value: 'all', label: 'Everything' },
] as const
export type Range = (typeof RANGES)[number]['value']

/** Search parameters of a time range: a preset, or `from` and `to` as local times `YYYY-MM-DDTHH:MM`. */
export const rangeSearch = {
  range: oneOf(
    RANGES.map(({ value }) => value),
    '7d',
  ),
  from: anyText,
  to: anyText,
}

/** Values of the search parameters of a time range. */
export type RangeSearch = SearchOf<typeof rangeSearch>

const HOUR_MS = 3_600_000
const HOUR_SECS = 3_600
const LENGTH_SECS = {
  '1h': HOUR_SECS,
  '24h': 24 * HOUR_SECS,
  '7d': 7 * 24 * HOUR_SECS,
  '30d': 30 * 24 * HOUR_SECS,
}

/** The range that the URL selects: `between` if it has a valid `from` or `to`, else a preset. */
export function rangeOf({ range = '7d', from, to }: RangeSearch): Range | 'between' {
  if (localTime(from) || localTime(to)) return 'between'
  return range
}

/** The range for the hub. A range that ends now is sent as its length, because the browser's clock may be wrong. */
export function timesOf(
  search: RangeSearch,
  nowMs: number,
): { since?: string; until?: string; withinSecs?: number } {
  const range = rangeOf(search)
  if (range === 'all') return {}
  if (range === 'between') {
    const [since, until] = [localTime(search.from), localTime(search.to)]
    return { ...(since && { since: since.toISOString() }), ...(until && { until: until.toISOString() }) }
  }
  if (range === 'night') {
    const { fromMs, untilMs } = lastNight(nowMs)
    return { since: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() }
  }
  return { withinSecs: LENGTH_SECS[range] }
}

/** A local time `YYYY-MM-DDTHH:MM`; undefined for other texts, such as a year that is still being typed. */
export function localTime(text: string | undefined): Date | undefined {
  const [, year, month, day, hour, minute] =
    /^([1-9]\d{3})-(\d\d)-(\d\d)T(\d\d):(\d\d)$/.exec(text ?? '') ?? []
  if (!minute) return undefined
  const date = new Date(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute))
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** Search parameters for a part of the timeline: from an hour before `firstMs` until an hour after `lastMs`. */
export function hourAround(firstMs: number, lastMs = firstMs): { from: string; to: string } {
  return { from: localMinute(firstMs - HOUR_MS), to: localMinute(lastMs + HOUR_MS) }
}
