import { expect, it } from 'vitest'
import { groupTitle, networkWords, newAddressWords } from './group-words.ts'

it.each([
  [{ certificateCount: 1, deviceCount: 1, knownDeviceCount: 0 }, '1 new device'],
  [{ certificateCount: 20, deviceCount: 20, knownDeviceCount: 0 }, '20 new devices'],
  [{ certificateCount: 3, deviceCount: 1, knownDeviceCount: 0 }, '1 new device, 3 certificates'],
  [{ certificateCount: 1, deviceCount: 1, knownDeviceCount: 1 }, '1 known device with another certificate'],
  [{ certificateCount: 2, deviceCount: 2, knownDeviceCount: 2 }, '2 known devices with another certificate'],
  [{ certificateCount: 5, deviceCount: 5, knownDeviceCount: 2 }, '3 new and 2 known devices'],
])('names what a group has: %#', (group, words) => {
  expect(groupTitle(group)).toBe(words)
})

it.each([
  [undefined, undefined],
  [
    { acceptedDevices: 31, addresses: ['185.46.212.34'], addressCount: 1 },
    'No other device with this token came from this address. The 31 accepted ones came from 185.46.212.34.',
  ],
  [
    { acceptedDevices: 1, addresses: ['::1'], addressCount: 1 },
    'No other device with this token came from this address. The accepted one came from ::1.',
  ],
  [
    { acceptedDevices: 9, addresses: ['a', 'b', 'c'], addressCount: 5 },
    'No other device with this token came from this address. The 9 accepted ones came from a, b, c and 2 more.',
  ],
])('states a new address as a fact: %#', (newAddress, words) => {
  expect(newAddressWords({ newAddress })).toBe(words)
})

it('says how many accepted devices came from the same network', () => {
  const words = (acceptedDevices: number, ofDevices: number) =>
    networkWords({ sameNetwork: { network: '203.0.113.0/24', acceptedDevices, ofDevices } })
  expect(words(16, 17)).toBe(
    '16 of 17 accepted devices with this token came from the same network, 203.0.113.0/24.',
  )
  expect(words(1, 1)).toBe(
    '1 of 1 accepted device with this token came from the same network, 203.0.113.0/24.',
  )
  expect(words(0, 4)).toBeUndefined()
})
