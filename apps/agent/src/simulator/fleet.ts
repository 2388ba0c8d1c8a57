import { setMaxListeners } from 'node:events'
import { FairLimiter } from '@muster/concurrency'
import { type DeviceProfile, deviceProfile } from './device-profile.ts'
import { emptyStats, type FleetStats } from './fleet-stats.ts'
import { Schedule } from './schedule.ts'
import { type FleetContext, SimulatedDevice } from './simulated-device.ts'
import { StatusPages } from './status-pages.ts'

export type SimulateFleetOptions = {
  hubUrl: string
  /** Deployment token. It should accept new certificates automatically. Otherwise every device waits for approval. */
  token: string
  count: number
  /** Determines names, hardware, fingerprints, certificates and the events of all devices. */
  seed?: string | number
  /** Mean number of events of one device per minute. */
  eventsPerMinute?: number
  /** Length of a simulated past before the start, in hours. Its events are sent as well, like the backlog of devices that were offline. */
  historyHours?: number
  /** If true, devices lose their connection at random times and reconnect. */
  hasOutages?: boolean
  /** Limit of connections that are being opened at the same time. */
  parallelConnects?: number
  acceptInvalidCertificates?: boolean
  /** Aborting this signal stops the fleet, as its disposal does. */
  signal?: AbortSignal
}

/** A running fleet. Its disposal ends all connections. */
export type SimulatedFleet = AsyncDisposable & {
  /** Figures, updated while the fleet runs. */
  readonly stats: Readonly<FleetStats>
  readonly devices: readonly DeviceProfile[]
  /** Resolves when every device has been connected once, or when the fleet was stopped. */
  readonly allConnected: Promise<void>
  /** Resolves when every device has stopped; never rejects. */
  readonly ended: Promise<void>
}

const MAX_EVENTS_PER_MINUTE = 6000

/**
 * Starts simulated devices in this process and returns immediately. A bounded number of devices connects at a time. Throws
 * `RangeError` for an invalid count or rate.
 */
export function simulateFleet(options: SimulateFleetOptions): SimulatedFleet {
  const { count, seed = 1, eventsPerMinute = 1, historyHours = 0 } = options
  if (!Number.isInteger(count) || count < 1)
    throw new RangeError(`count: found ${count}, expected an integer from 1`)
  if (!(eventsPerMinute > 0 && eventsPerMinute <= MAX_EVENTS_PER_MINUTE)) {
    throw new RangeError(
      `rate: found ${eventsPerMinute}, expected a number above 0 and up to ${MAX_EVENTS_PER_MINUTE}`,
    )
  }
  const stopping = new AbortController()
  // Each pending connection adds a listener to this signal. Without this call Node would warn about a leak above ten listeners.
  setMaxListeners(0, stopping.signal)
  const startedAtMs = Date.now()
  const stats = emptyStats(count)
  const { promise: allConnected, resolve: resolveConnected } = Promise.withResolvers<void>()
  const schedule = new Schedule()
  const context: FleetContext = {
    hubUrl: options.hubUrl,
    token: options.token,
    acceptInvalidCertificates: options.acceptInvalidCertificates ?? false,
    eventIntervalMs: Math.max(1, Math.round(60_000 / eventsPerMinute)),
    hasOutages: options.hasOutages ?? true,
    startedAtMs,
    historyFromMs: startedAtMs - historyHours * 60 * 60 * 1000,
    connects: new FairLimiter({ max: options.parallelConnects ?? 64 }),
    schedule,
    stats,
    pages: new StatusPages(),
    signal: stopping.signal,
    onConnected() {
      if (stats.everConnected < count || stats.allConnectedAfterMs !== undefined) return
      stats.allConnectedAfterMs = Date.now() - startedAtMs
      resolveConnected()
    },
  }
  const devices = Array.from(
    { length: count },
    (_, index) => new SimulatedDevice(deviceProfile(String(seed), index), context),
  )
  const stop = () => {
    stopping.abort(new Error('the simulator is stopping'))
    for (const device of devices) device.stop()
    schedule.clear()
  }
  options.signal?.addEventListener('abort', stop, { once: true })
  const ended = Promise.all(devices.map(device => device.run())).then(() => {
    options.signal?.removeEventListener('abort', stop)
    resolveConnected()
  })
  if (options.signal?.aborted) stop()
  return {
    stats,
    devices: devices.map(device => device.profile),
    allConnected,
    ended,
    async [Symbol.asyncDispose]() {
      stop()
      await ended
    },
  }
}
