import { describe, expect, it } from 'vitest'
import { historyOf } from './connection-history.ts'

const NOW = Date.parse('2026-06-08T12:00:00Z')
const HOURS = 7 * 24
const at = (hoursAgo: number) => new Date(NOW - hoursAgo * 3_600_000).toISOString()

const history = (connections: { connectedAt: string; endedAt?: string }[]) =>
  historyOf(
    connections.map(({ connectedAt, endedAt }) => ({
      fromMs: Date.parse(connectedAt),
      toMs: endedAt === undefined ? NOW : Date.parse(endedAt),
    })),
    NOW,
    { ticks: HOURS, tickSecs: 3600 },
  )

describe('the history of connections', () => {
  it('has no share without a record', () => {
    const found = history([])
    expect(found).toMatchObject({ interruptions: 0 })
    expect(found.ticks).toEqual(new Array(HOURS).fill(null))
  })

  it('counts an open connection until now', () => {
    const found = history([{ connectedAt: at(400) }])
    expect(found).toMatchObject({ share: 1, interruptions: 0, recordedSecs: HOURS * 3600 })
    expect(found.ticks).toEqual(new Array(HOURS).fill(1))
  })

  it('leaves the time before the oldest record unknown', () => {
    const found = history([{ connectedAt: at(1.5) }])
    expect(found.ticks.slice(-3)).toEqual([null, 1, 1])
    expect(found).toMatchObject({ share: 1, recordedSecs: 1.5 * 3600 })
  })

  it('finds the longest of several interruptions', () => {
    const found = history([
      { connectedAt: at(2) },
      { connectedAt: at(10), endedAt: at(8) },
      { connectedAt: at(12), endedAt: at(11) },
    ])
    expect(found.interruptions).toBe(2)
    expect(found.longest).toEqual({ secs: 6 * 3600, startedAt: at(8) })
    expect(found.share).toBeCloseTo(5 / 12)
    expect(found.ticks.slice(-12)).toEqual([1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1])
  })

  it('counts being disconnected as an interruption, but not a change of connection', () => {
    const changed = [{ connectedAt: at(1) }, { connectedAt: at(200), endedAt: at(1) }]
    expect(history(changed).interruptions).toBe(0)
    const ended = history([{ connectedAt: at(200), endedAt: at(0.5) }])
    expect(ended.interruptions).toBe(1)
    expect(ended.ticks.at(-1)).toBeCloseTo(0.5)
  })

  it('counts a device whose last connection ended before the period as disconnected throughout', () => {
    const found = history([{ connectedAt: at(900), endedAt: at(800) }])
    expect(found).toMatchObject({ share: 0, interruptions: 1 })
    expect(found.ticks).toEqual(new Array(HOURS).fill(0))
  })

  it('counts overlapping connections once', () => {
    const found = history([{ connectedAt: at(1) }, { connectedAt: at(2), endedAt: at(0.9) }])
    expect(found).toMatchObject({ share: 1, interruptions: 0 })
  })
})
