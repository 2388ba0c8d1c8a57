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
const before = new Map([[known.deviceId, known]])

it('finds no device without a change', () => {
  expect(arrivalOf([known], before)).toBeUndefined()
})

it('finds a known device that has reconnected', () => {
  expect(arrivalOf([row('d_known', true, '2026-06-02T00:00:00Z')], before)?.deviceId).toBe('d_known')
})

it('prefers a new device', () => {
  const back = row('d_known', true, '2026-06-02T00:00:00Z')
  expect(arrivalOf([back, row('d_new', false, '2026-06-02T00:00:00Z')], before)?.deviceId).toBe('d_new')
})
