import type { DeviceProfile } from './device-profile.ts'
import { randomOf } from './seeded-random.ts'

/*
 * Outages, health and updates are derived from the seed and the device's index, so the simulator stores no state. Outages and
 * health also depend on the absolute time, so they continue after a restart. Updates depend on the time since the start of the
 * simulation, so they begin again.
 */

/** A time during which a device is not connected. */
export type Outage = { startMs: number; endMs: number; isAbrupt: boolean }

export type Health = 'healthy' | 'degraded' | 'error'

const MINUTE_MS = 60_000
const OUTAGE_WINDOW_MS = 30 * MINUTE_MS
const HEALTH_WINDOW_MS = 10 * MINUTE_MS
const SEARCHED_WINDOWS = 96

/** Probability of an outage in each half hour, by quality of the device's network. */
const OUTAGE_CHANCE = { steady: 0.015, cellular: 0.2, flaky: 0.85 } as const

/** Next outage that starts after `afterMs`. Undefined if none starts within two days. */
export function nextOutage({ seed, index, reliability }: DeviceProfile, afterMs: number): Outage | undefined {
  const first = Math.floor(afterMs / OUTAGE_WINDOW_MS)
  for (let window = first; window < first + SEARCHED_WINDOWS; window++) {
    const random = randomOf(seed, index, 'outage', window)
    if (!random.chance(OUTAGE_CHANCE[reliability])) continue
    const startMs = Math.round((window + random.next()) * OUTAGE_WINDOW_MS)
    // The cube makes most outages short. The longest outages last 4 minutes.
    const endMs = startMs + Math.round(5000 + 235_000 * random.next() ** 3)
    if (startMs > afterMs) return { startMs, endMs, isAbrupt: random.chance(0.7) }
  }
  return undefined
}

/** Health of a device at a time. */
export function healthAt({ seed, index, sickness }: DeviceProfile, atMs: number): Health {
  const random = randomOf(seed, index, 'health', Math.floor(atMs / HEALTH_WINDOW_MS))
  if (!random.chance(sickness)) return 'healthy'
  return random.chance(0.2) ? 'error' : 'degraded'
}

/** Next time at which a device's health may change. */
export function nextHealthCheck(afterMs: number): number {
  return (Math.floor(afterMs / HEALTH_WINDOW_MS) + 1) * HEALTH_WINDOW_MS
}

/** A step of a simulated update at an offset from the start of the simulation (docs/protocol.md 4.4). */
export type UpdateStep = {
  offsetMs: number
  state: 'installing' | 'rebooting' | 'committing' | 'completed' | 'failed'
  currentVersion: string
  targetVersion: string
  lastError?: string
}

/** Steps of the update that a device goes through in the first minutes of a simulation; empty for most devices. */
export function updateSteps({ seed, index, hardware, firmware }: DeviceProfile): UpdateStep[] {
  const random = randomOf(seed, index, 'update')
  const targetVersion = hardware.firmware.at(-1)!
  if (firmware === targetVersion || !random.chance(0.2)) return []
  const installingMs = random.integer(10_000, 8 * MINUTE_MS)
  const doneInstallingMs = installingMs + random.integer(20_000, 2 * MINUTE_MS)
  const step = (offsetMs: number, state: UpdateStep['state'], currentVersion = firmware): UpdateStep => ({
    offsetMs,
    state,
    currentVersion,
    targetVersion,
  })
  if (random.chance(0.15)) {
    const lastError = random.pick([
      'download interrupted: connection reset by peer',
      'signature of the bundle is not valid',
      'not enough space on /data: 212 MiB needed, 87 MiB free',
    ])
    return [step(installingMs, 'installing'), { ...step(doneInstallingMs, 'failed'), lastError }]
  }
  const rebootedMs = doneInstallingMs + random.integer(15_000, 45_000)
  return [
    step(installingMs, 'installing'),
    step(doneInstallingMs, 'rebooting'),
    step(rebootedMs, 'committing', targetVersion),
    step(rebootedMs + random.integer(4000, 12_000), 'completed', targetVersion),
  ]
}
