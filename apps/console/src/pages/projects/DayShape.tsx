import { MAX_MARKED_DEVICES } from '@muster/actions/client'
import { useNow } from '../../lib/app/clock.ts'
import { formatCount } from '../../lib/app/format.ts'
import { hourAndMinute } from '../../lib/app/local-time.ts'
import shared from '../../ui/lazy/axis.module.css'
import { Strip } from '../../ui/Strip.tsx'
import { recordedSince, type Sample, samplesOf, unbroken } from '../devices/shared/connected-series.ts'
import styles from './DayShape.module.css'
import type { Summary } from './summary.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Number of marks of a small project: one for each half hour. */
const TICKS = 48
/** Height of the lowest mark, as a share of the height of the highest mark. */
const LOWEST_SHARE = 0.32
/** Size of the area in SVG units. CSS stretches it to the size of its box. */
const WIDTH = 300
const HEIGHT = 40
/** Space above the highest point of the line, in SVG units. */
const TOP = 3
/** Space below the lowest point of the line, in SVG units. */
const BOTTOM = 8

/**
 * Connected devices of a project in the last 24 h: an area, or a mark for each half hour if the project has few devices. The scale is the
 * range of the day and does not start at zero, so the caption names the lowest number and its time.
 */
export function DayShape({ deviceCount, connectedCount, connectedSeries }: Summary) {
  const nowMs = useNow()
  const samples = samplesOf(connectedSeries, connectedCount, nowMs)
  const range = rangeOf(samples)
  const since = recordedSince(samples, nowMs)
  const words = wordsOf(samples, range, deviceCount, since)
  const label = `Connected devices in the last 24 hours: ${[words, since].filter(Boolean).join(', ')}`
  return (
    <div className={styles.shape}>
      {deviceCount > MAX_MARKED_DEVICES ? (
        <Area samples={samples} range={range} nowMs={nowMs} label={label} />
      ) : (
        <Strip size="history" label={label} shares={ticksOf(samples, range, nowMs)} />
      )}
      <div className={shared.axis} aria-hidden="true">
        <span>{since ?? '24 h'}</span>
        <span>{words}</span>
      </div>
    </div>
  )
}

/** The lowest and the highest number of the day. */
type Range = { lowest: Sample & { count: number }; highest: number }

function rangeOf(samples: readonly Sample[]): Range {
  const known = samples.filter((sample): sample is Range['lowest'] => sample.count !== null)
  // The latest of equal lows, so that a low which lasts until now reads "now".
  const lowest = known.reduce((low, sample) => (sample.count <= low.count ? sample : low))
  return { lowest, highest: Math.max(...known.map(({ count }) => count)) }
}

function wordsOf(
  samples: readonly Sample[],
  { lowest, highest }: Range,
  deviceCount: number,
  since: string | undefined,
): string {
  const now = samples.at(-1)!
  const count = formatCount(lowest.count)
  if (samples.length === 1) return `${count} of ${formatCount(deviceCount)} now`
  if (lowest.count === highest) return `${count} of ${formatCount(deviceCount)}${since ? '' : ' all day'}`
  if (lowest === now) return `lowest ${count}, now`
  return `lowest ${count} at ${hourAndMinute(lowest.atMs)}, now ${formatCount(now.count!)}`
}

/** Height of the mark of each half hour, as a share of the full height, by its lowest count. Undefined for a half hour without a count. */
function ticksOf(
  samples: readonly Sample[],
  { lowest, highest }: Range,
  nowMs: number,
): (number | undefined)[] {
  const lows = Array.from({ length: TICKS }, (): number | undefined => undefined)
  for (const { atMs, count } of samples) {
    const index = Math.min(TICKS - 1, Math.floor(TICKS * (1 - (nowMs - atMs) / DAY_MS)))
    if (count !== null && index >= 0) lows[index] = Math.min(count, lows[index] ?? count)
  }
  return lows.map(low => {
    if (low === undefined || low === 0) return low
    const share = highest === lowest.count ? 1 : (low - lowest.count) / (highest - lowest.count)
    return LOWEST_SHARE + (1 - LOWEST_SHARE) * share
  })
}

type AreaProps = { samples: readonly Sample[]; range: Range; nowMs: number; label: string }

function Area({ samples, range: { lowest, highest }, nowMs, label }: AreaProps) {
  const x = (atMs: number) => round(WIDTH * Math.max(0, 1 - (nowMs - atMs) / DAY_MS))
  const y = (count: number) =>
    round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - (count - lowest.count) / Math.max(1, highest - lowest.count)))
  const parts = unbroken(samples).map(part => ({
    from: x(part[0]!.atMs),
    to: x(part.at(-1)!.atMs),
    points: part.map(({ atMs, count }) => `${x(atMs)} ${y(count!)}`).join('L'),
  }))
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path
        className={styles.area}
        d={parts.map(({ from, to, points }) => `M${from} ${HEIGHT}L${points}L${to} ${HEIGHT}Z`).join('')}
      />
      <path className={styles.line} d={parts.map(({ points }) => `M${points}`).join('')} />
    </svg>
  )
}

const round = (number: number) => Math.round(number * 10) / 10
