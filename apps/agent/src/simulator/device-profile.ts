import { HARDWARE, type Hardware, SITES } from './hardware.ts'
import { randomOf } from './seeded-random.ts'

/** Quality of a simulated device's network. */
type Reliability = 'steady' | 'cellular' | 'flaky'

/** Fixed characteristics of one simulated device. */
export type DeviceProfile = {
  seed: string
  index: number
  hardware: Hardware
  site: string
  hostname: string
  serial: string
  macAddresses: string[]
  addresses: string[]
  reliability: Reliability
  /** Share of time in which the device is unhealthy, from 0 to 1. */
  sickness: number
  /** Firmware version at the start of the simulation. */
  firmware: string
}

/** Derives the profile of the device with this index in the fleet with this seed. */
export function deviceProfile(seed: string, index: number): DeviceProfile {
  const random = randomOf(seed, index, 'profile')
  const hardware = random.weighted(HARDWARE)
  const site = random.pick(SITES)
  const reliability = random.weighted([
    ['steady', 83],
    ['cellular', 14],
    ['flaky', 3],
  ] as const)
  const hexPair = () => random.integer(0, 255).toString(16).padStart(2, '0')
  const siteNumber = SITES.indexOf(site) + 1
  return {
    seed,
    index,
    hardware,
    site,
    hostname: `sim-${hardware.role}-${site}-${String(index + 1).padStart(4, '0')}`,
    serial: `MS${random.integer(24, 26)}${String(random.integer(0, 99_999_999)).padStart(8, '0')}`,
    macAddresses: hardware.networks.map(() =>
      [hardware.macPrefix, hexPair(), hexPair(), hexPair()].join(':'),
    ),
    addresses: hardware.networks.map(
      (_, at) => `10.${siteNumber}.${(at * 64 + (index >> 7)) & 255}.${(index % 128) + 100}/24`,
    ),
    reliability,
    sickness: random.weighted([
      [0.002, 90],
      [0.15, 8],
      [0.6, 2],
    ] as const),
    // Newer versions are more common, as during a roll-out.
    firmware: random.weighted(hardware.firmware.map((version, at) => [version, 2 ** at] as const)),
  }
}
