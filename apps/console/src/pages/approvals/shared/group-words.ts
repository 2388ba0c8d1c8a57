import { counted, formatCount } from '../../../lib/app/format.ts'
import type { PendingGroup } from '../use-pending-list.ts'

type Group = Pick<PendingGroup, 'certificateCount' | 'deviceCount' | 'knownDeviceCount'>

/** Title of a group: "20 new devices", "1 known device with another certificate", "3 new and 2 known devices". */
export function groupTitle({ certificateCount, deviceCount, knownDeviceCount }: Group): string {
  const newCount = deviceCount - knownDeviceCount
  const extra = certificateCount > deviceCount ? `, ${counted(certificateCount, 'certificate')}` : ''
  if (knownDeviceCount === 0) return `${counted(newCount, 'new device')}${extra}`
  if (newCount === 0)
    return knownDeviceCount === 1
      ? `1 known device with ${certificateCount > 1 ? `${certificateCount} other certificates` : 'another certificate'}`
      : `${formatCount(knownDeviceCount)} known devices with another certificate${extra}`
  return `${formatCount(newCount)} new and ${formatCount(knownDeviceCount)} known devices${extra}`
}

/** Sentence for a group whose token was used by accepted devices from other addresses only; `undefined` for other groups. */
export function newAddressWords({ newAddress }: Pick<PendingGroup, 'newAddress'>): string | undefined {
  if (!newAddress) return undefined
  const { acceptedDevices, addresses, addressCount } = newAddress
  const named = addresses.join(addresses.length === 2 ? ' and ' : ', ')
  const others =
    addressCount > addresses.length ? ` and ${formatCount(addressCount - addresses.length)} more` : ''
  const who = acceptedDevices === 1 ? 'The accepted one' : `The ${formatCount(acceptedDevices)} accepted ones`
  return `No other device with this token came from this address. ${who} came from ${named}${others}.`
}

/** Sentence about the accepted devices with the token of a group that came from its network; `undefined` if none was accepted. */
export function networkWords({ sameNetwork }: Pick<PendingGroup, 'sameNetwork'>): string | undefined {
  if (!sameNetwork || sameNetwork.acceptedDevices === 0) return undefined
  const { network, acceptedDevices, ofDevices } = sameNetwork
  return `${formatCount(acceptedDevices)} of ${counted(ofDevices, 'accepted device')} with this token came from the same network, ${network}.`
}
