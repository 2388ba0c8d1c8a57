import { AGENT_INFO, SYSTEM_INFO_PROPERTY, type SystemInfo } from '../system-info.ts'
import type { DeviceProfile } from './device-profile.ts'
import { randomOf } from './seeded-random.ts'
import type { UpdateStep } from './story.ts'

/** Names of the properties that simulated devices set. */
export const PROPERTY = {
  systemInfo: SYSTEM_INFO_PROPERTY,
  otaStatus: 'dev.nexigon.ota.status',
  health: 'dev.nexigon.system.health',
  device: 'device',
  appConfig: 'app.config',
} as const

const DAY_MS = 24 * 60 * 60 * 1000

/** System information of a device (docs/protocol.md 4.2). The free disk space varies by the hour. */
export function systemInfoOf(profile: DeviceProfile, atMs: number): SystemInfo {
  const { hardware, hostname } = profile
  const drift = (Math.sin((atMs / DAY_MS + profile.index) * Math.PI * 2) + 1) * 0.02
  return {
    name: hardware.osName,
    version: `Linux (${hardware.osName} ${hardware.osVersion})`,
    kernel: `Linux ${hardware.kernel}`,
    hostname,
    arch: hardware.arch,
    memory: { total: hardware.memoryBytes },
    networks: hardware.networks.map((name, at) => ({
      name,
      macAddress: profile.macAddresses[at]!,
      ipAddresses: [profile.addresses[at]!],
    })),
    disks: hardware.disks.map(({ usedShare, ...disk }) => ({
      ...disk,
      availableSpace: Math.floor((disk.totalSpace * (1 - usedShare - drift)) / 4096) * 4096,
    })),
    exports: [{ protocol: 'http', name: 'Status page', port: 80, path: '/' }],
    agent: AGENT_INFO,
  }
}

/**
 * Value of the property that reports the state of software updates (docs/protocol.md 4.4). Without a `step`, as before the first simulated
 * update, a device reports `idle` or an update that was completed earlier.
 */
export function otaStatusOf(profile: DeviceProfile, step: UpdateStep | undefined): Record<string, unknown> {
  const { hardware, firmware } = profile
  const config = { path: `firmware/${hardware.role}/stable` }
  if (!step) {
    const isUpdated = randomOf(profile.seed, profile.index, 'ota').chance(0.4)
    return {
      config,
      currentVersion: firmware,
      state: isUpdated ? 'completed' : 'idle',
      ...(isUpdated && { targetVersion: firmware }),
    }
  }
  const { currentVersion, targetVersion, state, lastError } = step
  return {
    config,
    currentVersion,
    targetVersion,
    state,
    ...(lastError !== undefined && { lastError, failureCount: 1 }),
  }
}

/** Value of the property `device`: the data printed on the device's label, and the firmware version. */
export function labelOf(
  { hardware, serial, site, firmware }: DeviceProfile,
  step: UpdateStep | undefined,
): Record<string, string> {
  return { model: hardware.model, serial, site, firmware: step?.currentVersion ?? firmware }
}

/** Value of the property `app.config`: settings of the application on the device. */
export function appConfigOf({ seed, index, site }: DeviceProfile): Record<string, unknown> {
  const random = randomOf(seed, index, 'config')
  return {
    site,
    reportIntervalSecs: random.pick([30, 60, 300]),
    logLevel: random.weighted([
      ['info', 9],
      ['debug', 1],
    ] as const),
    features: { localDisplay: random.chance(0.6), remoteReset: true, loadBalancing: random.chance(0.3) },
    limits: {
      maxCurrentAmps: random.pick([16, 32, 63]),
      quietHours: random.chance(0.4) ? ['22:00', '06:00'] : null,
    },
  }
}
