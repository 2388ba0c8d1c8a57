import { describe, expect, it } from 'vitest'
import { mergeTicks } from './connection-ticks.ts'
import { axisOf, CONNECTION_RANGES, type ConnectionRange, connectionRangeOf } from './ranges.ts'

const NOW = Date.parse('2026-06-08T12:00:00Z')
const HOUR = 3_600_000
const at = (hoursAgo: number) => new Date(NOW - hoursAgo * HOUR).toISOString()

describe('mergeTicks', () => {
  it('uses the lower share, and prefers known to unknown ticks', () => {
    expect(mergeTicks([1, 0.2, null, 1, null, null, 0])).toEqual([0.2, 1, null, 0])
  })
})

describe('ranges of the section Connection', () => {
  it('open on the smallest range that holds the beginning of the problem, else on 7 d', () => {
    const opened = (asked: ConnectionRange['value'] | undefined, hoursAgo?: number) =>
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
