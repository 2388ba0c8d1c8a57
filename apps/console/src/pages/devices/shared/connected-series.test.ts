import { expect, it } from 'vitest'
import { hourAndMinute } from '../../../lib/app/local-time.ts'
import { comparison, lowestDip, recordedSince, samplesOf } from './connected-series.ts'

const NOW_MS = Date.parse('2026-11-23T14:38:00Z')
const STEP_MS = 600_000
const series = (counts: (number | null)[]) => ({
  from: new Date(NOW_MS - counts.length * STEP_MS).toISOString(),
  stepSecs: 600,
  counts,
})
const samples = (counts: (number | null)[], now: number) => samplesOf(series(counts), now, NOW_MS)

it('ends with the present number, and drops the step that has no number yet', () => {
  expect(samples([5, null, 6, null], 7).map(({ count }) => count)).toEqual([5, null, 6, 7])
  expect(samplesOf(undefined, 3, NOW_MS)).toEqual([{ atMs: NOW_MS, count: 3 }])
})

it('names the lowest number below 90 % of the median, and when the devices were back', () => {
  expect(lowestDip(samples([100, 100, 60, 50, 89, 95, 100], 100))).toEqual({
    atMs: NOW_MS - 4 * STEP_MS,
    count: 50,
    minutes: 30,
  })
  expect(lowestDip(samples([100, 100, 100, 50], 60))).toMatchObject({ count: 50, minutes: undefined })
  expect(lowestDip(samples([100, 91, 100], 100))).toBeUndefined()
  expect(lowestDip(samples([0, 0], 0))).toBeUndefined()
})

it('C31: says since when a young hub has recorded', () => {
  const young = [null, null, ...Array.from({ length: 12 }, () => 3)]
  const [first] = samples(young, 3).filter(({ count }) => count !== null)
  expect(recordedSince(samples(young, 3), NOW_MS)).toBe(`recorded since ${hourAndMinute(first!.atMs)}`)
  expect(
    recordedSince(
      samples(
        Array.from({ length: 144 }, () => 3),
        3,
      ),
      NOW_MS,
    ),
  ).toBeUndefined()
  expect(recordedSince([{ atMs: NOW_MS, count: 3 }], NOW_MS)).toBeUndefined()
})

it('compares with 24 h ago only if there is a number of that time', () => {
  const day = Array.from({ length: 144 }, () => 1_231)
  expect(comparison(samples(day, 1_211), NOW_MS)).toBe('20 fewer than 24 h ago')
  expect(comparison(samples(day, 2_231), NOW_MS)).toBe('1,000 more than 24 h ago')
  expect(comparison(samples(day, 1_231), NOW_MS)).toBe('as many as 24 h ago')
  expect(comparison(samples([1, 2], 3), NOW_MS)).toBeUndefined()
})
