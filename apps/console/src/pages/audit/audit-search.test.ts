import { describe, expect, it } from 'vitest'
import { lastNight, lastWeekend } from '../../lib/app/out-of-hours.ts'
import { readSearch } from '../../lib/app/search.ts'
import { auditFilter, auditSearch } from './audit-search.ts'
import { rangeLabel } from './shared/time-range.ts'

const filterOf = (texts: Record<string, string>) => auditFilter(readSearch(auditSearch, texts))

describe('auditFilter', () => {
  it('is empty without search parameters', () => {
    expect(auditFilter({})).toEqual({})
    expect(auditFilter({ actor: '  ', q: ' ' })).toEqual({})
  })

  it('filters by type, kind, actor, subject and text', () => {
    expect(
      auditFilter({ actor: ' mira ', type: 'users_Created', kind: 'device', q: ' crane ', subject: 'd_1' }),
    ).toEqual({
      actor: 'mira',
      types: ['users_Created'],
      text: 'crane',
      subject: 'd_1',
    })
    expect(auditFilter({ kind: 'certificate' }).types).toEqual(
      expect.arrayContaining(['devices_CertificateStatusChanged', 'devices_SetCertificateStatus']),
    )
    expect(filterOf({ kind: 'toString' })).toEqual({})
  })

  it('includes both days in the local time zone', () => {
    expect(auditFilter({ from: '2026-02-28', to: '2026-02-28' })).toEqual({
      since: new Date(2026, 1, 28).toISOString(),
      until: new Date(2026, 2, 1).toISOString(),
    })
  })

  it('takes times and hours of the day', () => {
    expect(
      auditFilter({ from: '2026-11-22T17:00:00Z', to: '2026-11-23T07:00:00Z', hours: '18:00-08:00' }),
    ).toEqual({
      since: '2026-11-22T17:00:00.000Z',
      until: '2026-11-23T07:00:00.000Z',
      hours: { from: '18:00', to: '08:00', timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
    })
  })

  it("leaves a range that ends now to the hub's clock", () => {
    expect(auditFilter({ time: 'hour' })).toEqual({ withinSecs: 3600 })
    expect(auditFilter({ time: 'week', from: '2026-11-22' })).toEqual({ withinSecs: 7 * 24 * 3600 })
  })

  it.each(['0002-11-20', 'yesterday', '2026-1-2', '20261-01-01', '2026-13-01T00:00:00Z', '1e9'])(
    'ignores %j',
    day => {
      expect(filterOf({ from: day, to: day, time: day, hours: '25:00-08:00' })).toEqual({})
    },
  )
})

describe('presets', () => {
  const at = (...[month, day, hour]: [number, number, number]) => new Date(2026, month, day, hour).getTime()

  it.each([
    ['the morning after', at(10, 23, 9), 22],
    ['the middle of the night', at(10, 23, 3), 22],
    ['the evening, when the next night has begun', at(10, 23, 18), 23],
    ['the turn of the year', new Date(2027, 0, 1, 7).getTime(), 31],
  ])('take last night from 18:00 to 08:00 in %s', (_when, nowMs, day) => {
    const { fromMs, untilMs } = lastNight(nowMs)
    expect([new Date(fromMs).getDate(), new Date(fromMs).getHours()]).toEqual([day, 18])
    expect(new Date(untilMs).getHours()).toBe(8)
    const [from, to] = [fromMs, untilMs].map(ms => new Date(ms).toISOString().replace('.000Z', 'Z'))
    expect(rangeLabel({ from: from!, to: to! }, nowMs)).toBe('Last night, 18:00 to 08:00')
  })

  it.each([
    ['Monday', at(10, 23, 9), 20],
    ['Friday noon', at(10, 27, 12), 20],
    ['Friday evening', at(10, 27, 19), 27],
    ['Sunday', at(10, 29, 12), 27],
  ])('take the last weekend from Friday 18:00 on %s', (_when, nowMs, friday) => {
    const { fromMs, untilMs } = lastWeekend(nowMs)
    expect([new Date(fromMs).getDay(), new Date(fromMs).getDate(), new Date(fromMs).getHours()]).toEqual([
      5,
      friday,
      18,
    ])
    expect([new Date(untilMs).getDay(), new Date(untilMs).getHours()]).toEqual([1, 8])
  })

  it('name a range in few words', () => {
    expect(rangeLabel({}, 0)).toBe('Any time')
    expect(rangeLabel({ time: 'day' }, 0)).toBe('Last 24 h')
    expect(rangeLabel({ hours: '18:00-08:00' }, 0)).toBe('18:00 to 08:00 each day')
    expect(rangeLabel({ from: '2026-11-22' }, 0)).toBe('From 22 Nov 00:00')
  })
})
