import { hourAndMinute, shortDay } from '../../../../lib/app/local-time.ts'

/** A time range of the section Connection: its length, and the length of one tick. */
export type ConnectionRange = {
  value: '24h' | '7d' | '30d'
  label: string
  words: string
  ticks: number
  tickMs: number
}

const HOUR_MS = 3_600_000

export const CONNECTION_RANGES: readonly ConnectionRange[] = [
  { value: '24h', label: '24 h', words: 'of the last 24 hours', ticks: 144, tickMs: HOUR_MS / 6 },
  { value: '7d', label: '7 d', words: 'of the last 7 days', ticks: 168, tickMs: HOUR_MS },
  { value: '30d', label: '30 d', words: 'of the last 30 days', ticks: 180, tickMs: 4 * HOUR_MS },
]
const WEEK = CONNECTION_RANGES[1]!

/**
 * The range that the URL names. Otherwise the smallest range that contains the beginning of the device's problem, or 7 d if there is none.
 */
export function connectionRangeOf(
  asked: ConnectionRange['value'] | undefined,
  problemBeganAt: string | undefined,
  nowMs: number,
): ConnectionRange {
  const chosen = CONNECTION_RANGES.find(({ value }) => value === asked)
  if (chosen) return chosen
  if (problemBeganAt === undefined) return WEEK
  const ageMs = nowMs - Date.parse(problemBeganAt)
  return CONNECTION_RANGES.find(({ ticks, tickMs }) => ageMs <= ticks * tickMs) ?? WEEK
}

/** A label of the time axis with its place, 0 to 1. */
type AxisLabel = { text: string; place: number }

const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' })

/** Labels of the axis at round local times: every 4 hours, every day or every 5 days. */
export function axisOf({ value, ticks, tickMs }: ConnectionRange, nowMs: number): AxisLabel[] {
  const startMs = nowMs - ticks * tickMs
  const start = new Date(startMs)
  const [format, stepHours, stepDays] =
    value === '24h'
      ? ([hourAndMinute, 4, 0] as const)
      : value === '7d'
        ? ([weekday.format, 0, 1] as const)
        : ([shortDay, 0, 5] as const)
  const labels: AxisLabel[] = []
  for (let step = 0; ; step++) {
    // Each time is made from its local date and hour, so that labels stay at full hours when daylight saving time begins or ends.
    const at = new Date(
      start.getFullYear(),
      start.getMonth(),
      start.getDate() + step * stepDays,
      step * stepHours,
    ).getTime()
    if (at >= nowMs) return labels
    const place = (at - startMs) / (nowMs - startMs)
    if (place >= 0 && place < LAST_LABEL) labels.push({ text: format(at), place })
  }
}

/** Place after which a label would not fit before the end of the axis. */
const LAST_LABEL = 0.95
