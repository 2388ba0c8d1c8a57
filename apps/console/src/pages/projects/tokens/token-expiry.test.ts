import { expect, it } from 'vitest'
import { expirySentence, expiryTimeMs } from './token-expiry.ts'

const nowMs = new Date(2026, 10, 23, 9, 12).getTime()

it('adds the chosen time, and reads dates as local time', () => {
  expect(expiryTimeMs('never', '', nowMs)).toBeUndefined()
  expect(expiryTimeMs('24', '', nowMs)).toBe(nowMs + 86_400_000)
  expect(expiryTimeMs('date', '2026-11-26T18:00', nowMs)).toBe(new Date(2026, 10, 26, 18, 0).getTime())
  expect(expiryTimeMs('date', '', nowMs)).toBeUndefined()
})

it('says which devices an expiry concerns', () => {
  expect(expirySentence(undefined)).toBe('Admits new devices until it is deleted.')
  expect(expirySentence(expiryTimeMs('168', '', nowMs))).toBe(
    'Refuses new devices from 30 November 2026, 09:12 on. Enrolled devices stay connected.',
  )
})
