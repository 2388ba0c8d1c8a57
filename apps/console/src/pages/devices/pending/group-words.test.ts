import { expect, it } from 'vitest'
import { groupTitle, newAddressWords } from './group-words.ts'

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
