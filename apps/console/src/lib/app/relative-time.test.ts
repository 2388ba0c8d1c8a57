import { describe, expect, it } from 'vitest'
import { relativeTime, shortAge } from './relative-time.ts'

const NOW = Date.UTC(2026, 10, 20)
const DAY = 86_400

describe('relativeTime', () => {
  it.each([
    [0, 'now'],
    [44, 'now'],
    [45, '45 seconds ago'],
    [60, '1 minute ago'],
    [119, '1 minute ago'],
    [3 * 60, '3 minutes ago'],
    [5 * 3600, '5 hours ago'],
    [DAY, '1 day ago'],
    [4 * DAY, '4 days ago'],
    [7 * DAY, '1 week ago'],
    [80 * DAY, '11 weeks ago'],
    [90 * DAY, '3 months ago'],
    [7 * 30 * DAY, '7 months ago'],
    [365 * DAY, '1 year ago'],
  ])('%d seconds as %s', (secs, text) => {
    expect(relativeTime(NOW - secs * 1000, NOW)).toBe(text)
  })

  it('formats times in the future', () => {
    expect(relativeTime(NOW + 2 * 3600 * 1000, NOW)).toBe('in 2 hours')
  })
})

describe('shortAge', () => {
  it.each([
    [-3, '0 s'],
    [12, '12 s'],
    [60, '1 min'],
    [7200, '2 h'],
  ])('%d seconds as %s', (secs, text) => {
    expect(shortAge(NOW - secs * 1000, NOW)).toBe(text)
  })
})
