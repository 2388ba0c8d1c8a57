import { expect, it } from 'vitest'
import { missingMember } from './check-answer.ts'
import { REQUIRED_MEMBERS } from './required-members.ts'

const DEVICE = {
  deviceId: 'd_1',
  firstSeen: '2026-11-30T12:00:00Z',
  status: 'healthy',
  isConnected: true,
  pendingCertificatesCount: 0,
}

it('finds nothing in an answer with all members, with unknown ones, and with an unknown word', () => {
  expect(missingMember(REQUIRED_MEMBERS.projects_QueryDevices, { devices: [] })).toBeUndefined()
  const device = { ...DEVICE, status: 'asleep', colour: 'red' }
  expect(
    missingMember(REQUIRED_MEMBERS.projects_QueryDevices, { devices: [DEVICE, device], weather: {} }),
  ).toBeUndefined()
})

it('names the first member that an answer lacks', () => {
  const { status: _, ...device } = DEVICE
  expect(missingMember(REQUIRED_MEMBERS.projects_QueryDevices, { devices: [DEVICE, device] })).toBe(
    'devices[1].status',
  )
  expect(missingMember(REQUIRED_MEMBERS.projects_QueryDevices, { devices: [null] })).toBe('devices[0]')
  expect(missingMember(REQUIRED_MEMBERS.projects_QueryDevices, {})).toBe('devices')
  expect(missingMember(REQUIRED_MEMBERS.projects_QueryDevices, 'a page of a proxy')).toBe('an object')
})

it('names a member of another kind than the contract says', () => {
  expect(missingMember(REQUIRED_MEMBERS.projects_QueryDevices, { devices: {} })).toBe('devices')
  expect(missingMember(REQUIRED_MEMBERS.projects_QueryDevices, { devices: [], memberColumns: 'name' })).toBe(
    'memberColumns',
  )
})

it('looks into optional members only if an answer has them', () => {
  const summary = { projectId: 'p_1', deviceCount: 0, connectedCount: 0, pendingCount: 0, bins: [] }
  expect(
    missingMember(REQUIRED_MEMBERS.projects_GetSummary, { ...summary, newestDevice: null }),
  ).toBeUndefined()
  expect(
    missingMember(REQUIRED_MEMBERS.projects_GetSummary, { ...summary, newestDevice: { deviceId: 'd_1' } }),
  ).toBe('newestDevice.firstSeen')
})

it('checks no answer of a command', () => {
  expect(missingMember(REQUIRED_MEMBERS.devices_SetName, undefined)).toBeUndefined()
})
