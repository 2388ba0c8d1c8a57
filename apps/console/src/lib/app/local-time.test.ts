import { expect, it } from 'vitest'
import { momentInWords, sinceInWords } from './local-time.ts'

const local = (year: number, month: number, day: number, hour: number, minute = 0) =>
  new Date(year, month - 1, day, hour, minute).getTime()
const NOW = local(2026, 11, 23, 14, 33)

function sentence(atMs: number): string {
  const { on, text } = momentInWords(atMs, NOW)
  return on + text
}

it('says a moment in a sentence, with the year only where it is another one', () => {
  expect(sentence(local(2026, 11, 23, 13, 58))).toBe('today, 13:58')
  expect(sentence(local(2026, 11, 23, 0))).toBe('today, 00:00')
  expect(sentence(local(2026, 11, 22, 23, 59))).toBe('yesterday, 23:59')
  expect(sentence(local(2026, 11, 21, 2, 14))).toBe('on Saturday 21 November, 02:14')
  expect(sentence(local(2025, 11, 23, 2, 14))).toBe('on Sunday 23 November 2025, 02:14')
  // If a clock is wrong, the time to describe may lie in the future.
  expect(sentence(local(2026, 11, 24, 9))).toBe('on Tuesday 24 November, 09:00')
})

it('says since when something holds', () => {
  expect(sinceInWords(local(2026, 11, 23, 14, 2), NOW)).toBe('14:02')
  expect(sinceInWords(local(2026, 11, 22, 14, 2), NOW)).toBe('22 November, 14:02')
  expect(sinceInWords(local(2024, 1, 2, 14, 2), NOW)).toBe('2 January 2024, 14:02')
})
