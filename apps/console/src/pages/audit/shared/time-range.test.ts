import { afterAll, describe, expect, it, vi } from 'vitest'
import { otherOffset } from '../../../lib/app/local-time.ts'
import { lastNight, lastWeekend } from '../../../lib/app/out-of-hours.ts'
import { rangeLabel, rangeWords, timeFilter } from './time-range.ts'

// Formatters keep the time zone in which they were made, so it is set before the modules load.
const zone = vi.hoisted(() => {
  const before = process.env.TZ
  process.env.TZ = 'Europe/Berlin'
  return before
})
afterAll(() => {
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
})

const utc = (ms: number) => new Date(ms).toISOString().replace(':00.000Z', 'Z')

describe('last night', () => {
  it.each([
    // Summer time ends on 25 October 2026 at 03:00 and begins on 29 March 2026 at 02:00.
    ['2026-11-26T07:59', '2026-11-25T17:00Z', '2026-11-26T07:00Z', ['14 hours', '13 h 59 min so far']],
    ['2026-11-26T08:01', '2026-11-25T17:00Z', '2026-11-26T07:00Z', ['14 hours']],
    ['2026-11-26T17:59', '2026-11-25T17:00Z', '2026-11-26T07:00Z', ['14 hours']],
    ['2026-11-26T18:32', '2026-11-26T17:00Z', '2026-11-27T07:00Z', ['14 hours', '32 min so far']],
    ['2026-10-24T18:32', '2026-10-24T16:00Z', '2026-10-25T07:00Z', ['15 hours', '32 min so far']],
    ['2026-10-25T07:59', '2026-10-24T16:00Z', '2026-10-25T07:00Z', ['15 hours', '14 h 59 min so far']],
    ['2026-10-25T08:01', '2026-10-24T16:00Z', '2026-10-25T07:00Z', ['15 hours']],
    ['2026-10-25T17:59', '2026-10-24T16:00Z', '2026-10-25T07:00Z', ['15 hours']],
    ['2026-10-25T18:32', '2026-10-25T17:00Z', '2026-10-26T07:00Z', ['14 hours', '32 min so far']],
    ['2026-03-29T08:01', '2026-03-28T17:00Z', '2026-03-29T06:00Z', ['13 hours']],
    ['2026-03-29T18:32', '2026-03-29T16:00Z', '2026-03-30T06:00Z', ['14 hours', '32 min so far']],
    ['2027-01-01T07:59', '2026-12-31T17:00Z', '2027-01-01T07:00Z', ['14 hours', '13 h 59 min so far']],
  ])('at %s is from %s to %s', (now, from, until, lengths) => {
    const nowMs = Date.parse(now)
    const night = lastNight(nowMs)
    expect([utc(night.fromMs), utc(night.untilMs)]).toEqual([from, until])
    expect(rangeWords(night, nowMs).lengths).toEqual(lengths)
    const search = { from: new Date(night.fromMs).toISOString(), to: new Date(night.untilMs).toISOString() }
    expect(rangeLabel(search, nowMs)).toBe('Last night, 18:00 to 08:00')
    expect(timeFilter(search)).toEqual({ since: search.from, until: search.to })
  })

  it('is said with both days and the time zone, and with both offsets when the clock changes', () => {
    const words = (now: string) => rangeWords(lastNight(Date.parse(now)), Date.parse(now)).when
    expect(words('2026-11-26T18:32')).toBe(
      'Thursday 26 November 18:00 to Friday 27 November 08:00, your time (UTC+1).',
    )
    expect(words('2026-10-25T09:00')).toBe(
      'Saturday 24 October 18:00 to Sunday 25 October 08:00, your time (UTC+2, then UTC+1).',
    )
  })
})

it('D12: a time names its offset where it is not the present one', () => {
  const nowMs = Date.parse('2026-11-26T12:00')
  expect(otherOffset(Date.parse('2026-10-25T00:30:00Z'), nowMs)).toBe('UTC+2')
  expect(otherOffset(Date.parse('2026-10-25T01:30:00Z'), nowMs)).toBeUndefined()
})

it('takes the running weekend from Friday 18:00 and says how long it has lasted', () => {
  const nowMs = Date.parse('2026-11-27T18:32')
  const weekend = lastWeekend(nowMs)
  expect([utc(weekend.fromMs), utc(weekend.untilMs)]).toEqual(['2026-11-27T17:00Z', '2026-11-30T07:00Z'])
  expect(rangeWords(weekend, nowMs).lengths).toEqual(['3 days', '32 min so far'])
})

it('says ranges without a beginning or an end', () => {
  const nowMs = Date.parse('2026-11-26T12:00')
  expect(rangeWords({ fromMs: Date.parse('2026-11-26T11:00') }, nowMs)).toEqual({
    when: 'Thursday 26 November 11:00 to now, your time (UTC+1).',
    lengths: [],
  })
  expect(rangeWords({ untilMs: Date.parse('2026-07-01T08:00') }, nowMs).when).toBe(
    'From the beginning to Wednesday 1 July 08:00, your time (UTC+2).',
  )
})
