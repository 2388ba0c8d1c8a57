import { expect, it } from 'vitest'
import { localMinute } from '../../../lib/app/local-time.ts'
import { limitsOf } from './token-limits.ts'

it('omits blank limits and reads times as local time', () => {
  const blank = { expiresAt: '', deviceLimit: ' ', newDevicesAtOnce: '', newDevicesPerHour: '' }
  expect(limitsOf(blank)).toEqual({})
  const at = new Date(2027, 0, 2, 3, 4)
  expect(localMinute(at.getTime())).toBe('2027-01-02T03:04')
  expect(limitsOf({ ...blank, expiresAt: localMinute(at.getTime()), deviceLimit: '500' })).toEqual({
    expiresAt: at.toISOString(),
    deviceLimit: 500,
  })
})
