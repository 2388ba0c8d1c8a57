import { expect, it } from 'vitest'
import { devicesPerTick, ticksOf } from './ticks.ts'

it('draws one tick a device while they fit', () => {
  expect(devicesPerTick(40, 5, 180)).toBe(1)
  expect([0, 1, 40].map(devices => ticksOf(devices, 1))).toEqual([0, 1, 40])
})

it('never draws more ticks than fit, and at least one for each part', () => {
  for (const parts of [
    [1412, 15, 27, 313, 25],
    [99_996, 1, 1, 1, 1],
    [3, 3, 3, 3, 3],
    [20_000, 20_000, 20_000, 20_000, 20_000],
  ])
    for (const max of [40, 81, 180]) {
      const perTick = devicesPerTick(
        parts.reduce((sum, part) => sum + part, 0),
        parts.length,
        max,
      )
      const ticks = parts.map(devices => ticksOf(devices, perTick))
      expect(Math.min(...ticks)).toBeGreaterThanOrEqual(1)
      expect(ticks.reduce((sum, tick) => sum + tick, 0)).toBeLessThanOrEqual(max)
    }
})
