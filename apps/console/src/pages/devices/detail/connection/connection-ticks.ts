import type { ActionOutput } from '@muster/actions/client'

type Connection = Pick<
  ActionOutput<'devices_QueryConnections'>['connections'][number],
  'connectedAt' | 'endedAt'
>

/** Share of a tick's time during which the device was connected (0 to 1); `undefined` before the oldest record. */
export type Tick = number | undefined

/** Time up to now, divided into ticks of the same length. */
type Period = { ticks: number; tickMs: number }

/** Connection history of a device. */
export type ConnectionHistory = {
  /** One entry for each tick, the oldest first. */
  ticks: Tick[]
  /** Share of the recorded time during which the device was connected (0 to 1); `undefined` without any record. */
  share: number | undefined
  /** Time since the oldest record in seconds, at most the length of the period. */
  recordedSecs: number
  interruptions: number
  longest: { secs: number; startedAt: number } | undefined
}

type Span = { from: number; to: number }

/**
 * Computes the history of the period before `now`. Time before the oldest record is unknown, not disconnected. An open
 * connection lasts until `now`; being disconnected at `now` counts as an interruption.
 */
export function readHistory(
  connections: readonly Connection[],
  now: number,
  { ticks, tickMs }: Period,
): ConnectionHistory {
  const spans = merge(
    connections
      .map(({ connectedAt, endedAt }) => ({
        from: Date.parse(connectedAt),
        to: endedAt === undefined ? now : Math.min(now, Date.parse(endedAt)),
      }))
      .filter(span => span.to >= span.from),
  )
  const start = now - ticks * tickMs
  const oldest = spans[0]
  if (!oldest) {
    return {
      ticks: new Array<Tick>(ticks).fill(undefined),
      share: undefined,
      recordedSecs: 0,
      interruptions: 0,
      longest: undefined,
    }
  }

  const known = Math.max(start, oldest.from)
  const gaps = gapsOf(spans, known, now)
  const longest = gaps.reduce<Span | undefined>(
    (best, gap) => (!best || gap.to - gap.from > best.to - best.from ? gap : best),
    undefined,
  )
  return {
    ticks: Array.from({ length: ticks }, (_, index) => {
      const from = Math.max(known, start + index * tickMs)
      const to = start + (index + 1) * tickMs
      return to <= from ? undefined : overlap(spans, from, to) / (to - from)
    }),
    share: now > known ? overlap(spans, known, now) / (now - known) : 1,
    recordedSecs: (now - known) / 1000,
    interruptions: gaps.length,
    longest: longest && { secs: (longest.to - longest.from) / 1000, startedAt: longest.from },
  }
}

/**
 * Merges pairs of ticks for narrow screens. A tick is the share of an interval in which the device was connected. A pair gets the lower
 * share of its two ticks, so that an interruption stays visible. If only one tick has a share, the pair gets that share.
 */
export function mergeTicks(ticks: readonly Tick[]): Tick[] {
  return Array.from({ length: Math.ceil(ticks.length / 2) }, (_, index) => {
    const [a, b] = [ticks[index * 2], ticks[index * 2 + 1]]
    return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
  })
}

function merge(spans: Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else merged.push({ ...span })
  }
  return merged
}

function gapsOf(spans: Span[], from: number, to: number): Span[] {
  const gaps: Span[] = []
  let end = from
  for (const span of [...spans, { from: to, to }]) {
    const gap = { from: Math.max(end, from), to: Math.min(span.from, to) }
    // A gap below 1 s is a change from one connection to the next, not an interruption.
    if (gap.to - gap.from >= 1000) gaps.push(gap)
    end = Math.max(end, span.to)
  }
  return gaps
}

function overlap(spans: Span[], from: number, to: number): number {
  return spans.reduce((sum, span) => sum + Math.max(0, Math.min(span.to, to) - Math.max(span.from, from)), 0)
}
