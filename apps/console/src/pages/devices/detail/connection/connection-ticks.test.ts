import { describe, expect, it } from 'vitest'
import { mergeTicks, readHistory } from './connection-ticks.ts'
import { axisOf, CONNECTION_RANGES, connectionRangeOf } from './ranges.ts'

const NOW = Date.parse('2026-06-08T12:00:00Z')
const HOUR = 3_600_000
const HOURS = 7 * 24
const WEEK = { ticks: HOURS, tickMs: HOUR }
const at = (hoursAgo: number) => new Date(NOW - hoursAgo * HOUR).toISOString()

describe('readHistory', () => {
  it('has no share without a record', () => {
    const history = readHistory([], NOW, WEEK)
    expect(history).toMatchObject({ share: undefined, interruptions: 0, longest: undefined })
    expect(history.ticks).toEqual(new Array(HOURS).fill(undefined))
  })

  it('counts an open connection until now', () => {
    const history = readHistory([{ connectedAt: at(400) }], NOW, WEEK)
    expect(history).toMatchObject({ share: 1, interruptions: 0, recordedSecs: HOURS * 3600 })
    expect(history.ticks).toEqual(new Array(HOURS).fill(1))
  })

  it('leaves the time before the oldest record unknown', () => {
    const history = readHistory([{ connectedAt: at(1.5) }], NOW, WEEK)
    expect(history.ticks.slice(-3)).toEqual([undefined, 1, 1])
    expect(history).toMatchObject({ share: 1, recordedSecs: 1.5 * 3600 })
  })

  it('finds the longest of several interruptions', () => {
    const history = readHistory(
      [
        { connectedAt: at(2) },
        { connectedAt: at(10), endedAt: at(8) },
        { connectedAt: at(12), endedAt: at(11) },
      ],
      NOW,
      WEEK,
    )
    expect(history.interruptions).toBe(2)
    expect(history.longest).toEqual({ secs: 6 * 3600, startedAt: NOW - 8 * HOUR })
    expect(history.share).toBeCloseTo(5 / 12)
    expect(history.ticks.slice(-12)).toEqual([1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1])
  })

  it('counts being disconnected as an interruption, but not a change of connection', () => {
    const changed = [{ connectedAt: at(1) }, { connectedAt: at(200), endedAt: at(1) }]
    expect(readHistory(changed, NOW, WEEK).interruptions).toBe(0)
    const ended = readHistory([{ connectedAt: at(200), endedAt: at(0.5) }], NOW, WEEK)
    expect(ended.interruptions).toBe(1)
    expect(ended.ticks.at(-1)).toBeCloseTo(0.5)
  })

  it('counts a device whose last connection ended before the period as disconnected throughout', () => {
    const history = readHistory([{ connectedAt: at(900), endedAt: at(800) }], NOW, WEEK)
    expect(history).toMatchObject({ share: 0, interruptions: 1 })
    expect(history.ticks).toEqual(new Array(HOURS).fill(0))
  })

  it('counts overlapping connections once', () => {
    const history = readHistory([{ connectedAt: at(1) }, { connectedAt: at(2), endedAt: at(0.9) }], NOW, WEEK)
    expect(history).toMatchObject({ share: 1, interruptions: 0 })
  })
})

describe('mergeTicks', () => {
  it('uses the lower share, and prefers known to unknown ticks', () => {
    expect(mergeTicks([1, 0.2, undefined, 1, undefined, undefined, 0])).toEqual([0.2, 1, undefined, 0])
  })
})

describe('ranges of the section Connection', () => {
  it('open on the smallest range that holds the beginning of the problem, else on 7 d', () => {
    const opened = (asked: string | undefined, hoursAgo?: number) =>
      connectionRangeOf(asked, hoursAgo === undefined ? undefined : at(hoursAgo), NOW).value
    expect([opened(undefined), opened(undefined, 3), opened(undefined, 100)]).toEqual(['7d', '24h', '7d'])
    expect([opened(undefined, 500), opened(undefined, 5_000), opened('30d', 3)]).toEqual(['30d', '7d', '30d'])
  })

  it.each(CONNECTION_RANGES.map(range => [range.value, range] as const))(
    '%s has labels in order',
    (_, range) => {
      const places = axisOf(range, NOW).map(({ place }) => place)
      expect(places.length).toBeGreaterThanOrEqual(5)
      expect(places.every((place, index) => place >= (places[index - 1] ?? 0) && place < 1)).toBe(true)
    },
  )
})
