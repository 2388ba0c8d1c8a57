import { expect, it } from 'vitest'
import type { DeviceRow } from '../list/use-device-list.ts'
import { arrivalOf } from './use-enrolment.ts'

function row(deviceId: string, isConnected: boolean, lastConnectedAt: string): DeviceRow {
  return {
    deviceId,
    isConnected,
    lastConnectedAt,
    firstSeen: '2026-06-01T00:00:00Z',
    status: isConnected ? 'healthy' : 'offline',
    pendingCertificatesCount: 0,
  } as DeviceRow
}

const known = row('d_known', false, '2026-06-01T00:00:00Z')
const back = row('d_known', true, '2026-06-02T00:00:00Z')
const fresh = row('d_new', false, '2026-06-02T00:00:00Z')
const before = new Map([[known.deviceId, known]])
const none = new Set<string>()

it('finds no device without a change', () => {
  expect(arrivalOf([], [known], before, none)).toBeUndefined()
})

it('finds a known device that has reconnected', () => {
  expect(arrivalOf([], [back], before, none)).toBe(back)
})

it('does not take a new device of another token for the awaited one', () => {
  expect(arrivalOf([], [row('d_other', true, '2026-06-02T00:00:00Z')], before, none)).toBeUndefined()
})

it('prefers a device that enrolled with the token', () => {
  expect(arrivalOf([fresh], [back, fresh], before, none)).toBe(fresh)
})

it('finds no device that was greeted', () => {
  expect(arrivalOf([fresh], [back], before, new Set(['d_new', 'd_known']))).toBeUndefined()
})
