import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { wireTime } from '../../platform/runtime/times.ts'

/** Maximum number of connections that one history is computed from. */
const MAX_CONNECTIONS = 20_000

/** Time during which a device was connected. */
type Span = { fromMs: number; toMs: number }

/** Time up to now, divided into ticks of the same length. */
type Period = { ticks: number; tickSecs: number }

/** Reads the connections of a period, newest first, and the last one before it, and computes the history of the device. */
export async function readConnectionHistory(db: Db, deviceId: string, period: Period) {
  const nowMs = Date.now()
  const start = new Date(nowMs - period.ticks * period.tickSecs * 1000)
  // The index of connections has their beginnings only. A connection that has lasted since before the period is the last one before it.
  const { rows } = await sql<Span>`
    select (extract(epoch from c.connected_at) * 1000)::float8 as "fromMs",
           least(${nowMs}, extract(epoch from c.ended_at) * 1000)::float8 as "toMs"
      from ((select connected_at, ended_at from device_connection
              where device_id = ${deviceId} and connected_at >= ${start} order by connected_at desc limit ${MAX_CONNECTIONS + 1})
            union all
            (select connected_at, ended_at from device_connection
              where device_id = ${deviceId} and connected_at < ${start} order by connected_at desc limit 1)) c
     order by c.connected_at desc limit ${MAX_CONNECTIONS + 1}`.execute(db)
  const read = rows.slice(0, MAX_CONNECTIONS)
  return {
    until: wireTime(new Date(nowMs)),
    ...historyOf(read, nowMs, period),
    ...(rows.length > read.length && { readBackTo: wireTime(new Date(read.at(-1)!.fromMs)) }),
  }
}

/**
 * Computes the history of the period before `nowMs`. Time before the oldest connection is unknown, not disconnected. Being disconnected
 * at `nowMs` counts as an interruption.
 */
export function historyOf(connections: readonly Span[], nowMs: number, { ticks, tickSecs }: Period) {
  const spans = merge(connections.filter(span => span.toMs >= span.fromMs))
  const tickMs = tickSecs * 1000
  const startMs = nowMs - ticks * tickMs
  const oldest = spans[0]
  if (!oldest) return { ticks: new Array<number | null>(ticks).fill(null), recordedSecs: 0, interruptions: 0 }

  const knownMs = Math.max(startMs, oldest.fromMs)
  const gaps = gapsOf(spans, knownMs, nowMs)
  const longest = gaps.reduce<Span | undefined>(
    (best, gap) => (!best || gap.toMs - gap.fromMs > best.toMs - best.fromMs ? gap : best),
    undefined,
  )
  // Spans and ticks are in the same order, so both are passed once.
  let first = 0
  return {
    ticks: Array.from({ length: ticks }, (_, index) => {
      const fromMs = Math.max(knownMs, startMs + index * tickMs)
      const toMs = startMs + (index + 1) * tickMs
      if (toMs <= fromMs) return null
      while (first < spans.length && spans[first]!.toMs <= fromMs) first++
      let end = first
      while (end < spans.length && spans[end]!.fromMs < toMs) end++
      return overlapMs(spans.slice(first, end), fromMs, toMs) / (toMs - fromMs)
    }),
    share: nowMs > knownMs ? overlapMs(spans, knownMs, nowMs) / (nowMs - knownMs) : 1,
    recordedSecs: (nowMs - knownMs) / 1000,
    interruptions: gaps.length,
    longest: longest && {
      secs: (longest.toMs - longest.fromMs) / 1000,
      startedAt: wireTime(new Date(longest.fromMs)),
    },
  }
}

function merge(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1)
    if (last && span.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, span.toMs)
    else merged.push({ ...span })
  }
  return merged
}

function gapsOf(spans: readonly Span[], fromMs: number, toMs: number): Span[] {
  const gaps: Span[] = []
  let endMs = fromMs
  for (const span of [...spans, { fromMs: toMs, toMs }]) {
    const gap = { fromMs: Math.max(endMs, fromMs), toMs: Math.min(span.fromMs, toMs) }
    // A gap below 1 s is a change from one connection to the next, not an interruption.
    if (gap.toMs - gap.fromMs >= 1000) gaps.push(gap)
    endMs = Math.max(endMs, span.toMs)
  }
  return gaps
}

function overlapMs(spans: readonly Span[], fromMs: number, toMs: number): number {
  return spans.reduce(
    (sum, span) => sum + Math.max(0, Math.min(span.toMs, toMs) - Math.max(span.fromMs, fromMs)),
    0,
  )
}
