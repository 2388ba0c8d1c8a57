import { formatCount } from '../../../lib/app/format.ts'
import { hourAndMinute } from '../../../lib/app/local-time.ts'

/** A number of connected devices at a time, or null where nothing was counted. */
export type Sample = { atMs: number; count: number | null }

/** A period in which far fewer devices than usual were connected. `minutes` is undefined while it has not ended. */
type Dip = { atMs: number; count: number; minutes: number | undefined }

/** Fraction of the median number of connected devices. A dip begins below it, and ends when the number reaches it again. */
const DIP_SHARE = 0.9

const DAY_MS = 24 * 60 * 60 * 1000

/** The samples of the last 24 h, ending with the current number. */
export function samplesOf(
  series: { from: string; stepSecs: number; counts: (number | null)[] } | undefined,
  connectedCount: number,
  nowMs: number,
): Sample[] {
  const now = { atMs: nowMs, count: connectedCount }
  if (!series) return [now]
  const fromMs = Date.parse(series.from)
  const before = series.counts
    .map((count, index) => ({ atMs: fromMs + index * series.stepSecs * 1000, count }))
    .filter(({ atMs }) => atMs < nowMs)
  // The latest step may not have been counted yet. It is left out, because the chart would show it as a gap.
  if (before.at(-1)?.count === null) before.pop()
  return [...before, now]
}

/** Shortest time, in milliseconds, without a count at the beginning of the 24 h that is named. The hub counts every 10 minutes. */
const YOUNG_MS = 3_600_000

/** Words for a series that begins later than 24 h ago, because the hub or the project is younger: "recorded since 19:06". */
export function recordedSince(samples: readonly Sample[], nowMs: number): string | undefined {
  const first = samples.find(({ count }) => count !== null)
  if (samples.length < 2 || !first || first.atMs - (nowMs - DAY_MS) < YOUNG_MS) return undefined
  return `recorded since ${hourAndMinute(first.atMs)}`
}

/** Splits the samples at times without a count, so that an area has gaps there. */
export function unbroken(samples: readonly Sample[]): Sample[][] {
  const parts: Sample[][] = [[]]
  for (const sample of samples) {
    if (sample.count === null) parts.push([])
    else parts.at(-1)!.push(sample)
  }
  return parts.filter(part => part.length > 0)
}

/** The dip with the lowest number. Undefined if no number is below 90 % of the median. */
export function lowestDip(samples: readonly Sample[]): Dip | undefined {
  const counts = samples.flatMap(({ count }) => count ?? []).sort((a, b) => a - b)
  const median = counts[Math.floor(counts.length / 2)] ?? 0
  const [lowest] = counts
  if (lowest === undefined || lowest >= DIP_SHARE * median) return undefined
  const at = samples.findIndex(({ count }) => count === lowest)
  const isDown = ({ count }: Sample) => count !== null && count < DIP_SHARE * median
  const begin = samples.findLastIndex((sample, index) => index < at && !isDown(sample)) + 1
  const end = samples.findIndex((sample, index) => index > at && sample.count !== null && !isDown(sample))
  const minutes = end === -1 ? undefined : Math.round((samples[end]!.atMs - samples[begin]!.atMs) / 60_000)
  return { atMs: samples[at]!.atMs, count: lowest, minutes }
}

/** The change in words: "20 fewer than 24 h ago". Compares with the first sample, if it is almost 24 h old. */
export function comparison(samples: readonly Sample[], nowMs: number): string | undefined {
  const first = samples.find(({ count }) => count !== null)
  const last = samples.at(-1)
  if (!first || first.count === null || last?.count == null || nowMs - first.atMs < 23 * 3_600_000)
    return undefined
  const more = last.count - first.count
  if (more === 0) return 'as many as 24 h ago'
  return `${formatCount(Math.abs(more))} ${more > 0 ? 'more' : 'fewer'} than 24 h ago`
}
