import { expect, it } from 'vitest'
import { gridLines, linePath, unbroken } from './series-path.ts'

it('has a gap where nothing was counted', () => {
  const parts = unbroken([null, 1, 2, null, null, 3])
  expect(parts.map(part => part.map(({ count }) => count))).toEqual([[1, 2], [3]])
  const at = (value: number) => value
  expect(parts.map(part => linePath(part, at, at))).toEqual(['M1 1L2 2', 'M5 3h2'])
})

it('has a few rounded lines up to the highest count', () => {
  for (const highest of [0, 1, 2, 3, 7, 12, 99, 100, 101, 1412, 99_999]) {
    const lines = gridLines(highest)
    expect(lines[0]).toBe(0)
    expect(lines.at(-1)).toBeGreaterThanOrEqual(Math.max(1, highest))
    expect(lines.length).toBeGreaterThanOrEqual(2)
    expect(lines.length).toBeLessThanOrEqual(5)
    expect(lines.every(Number.isInteger)).toBe(true)
  }
})
