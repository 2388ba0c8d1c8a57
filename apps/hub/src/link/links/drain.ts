import { setTimeout as sleep } from 'node:timers/promises'
import { GO_AWAY } from '@muster/link'
import type { ClusterNode } from '../../platform/cluster/node.ts'
import type { Readiness } from '../../platform/database/server/readiness.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { DeviceRegistry } from './registry.ts'

/** Time for which new connections are still accepted, in milliseconds. Load balancers request `/readyz` every 1 to 5 s. */
const MAX_LISTEN_MS = 2_000
/** Time for which new connections are still accepted, as a share of `drainMs`. If `MAX_LISTEN_MS` is shorter, it applies instead. */
const LISTEN_SHARE = 0.2
/** Interval, in milliseconds, at which portions of the devices are released (asked to connect to another node). */
const PORTION_MS = 100

type DrainOptions = {
  node: ClusterNode
  devices: DeviceRegistry
  /** Its method `drain` makes the gateway refuse further devices. */
  gateway: { drain(): void }
  readiness: Readiness
  /** Stops listening for new connections and closes idle ones. */
  stopListening: () => void
  /** Time over which the devices are released, in milliseconds. 0 releases none before the hub stops. */
  drainMs: number
  /** Ends the release of devices early when it aborts. */
  signal: AbortSignal
  log: Logger
}

/**
 * Hands the devices of a stopping node over to other nodes. `/readyz` fails, upgrades are refused and the listeners close. Portions of the
 * devices are asked to reconnect, spread over `drainMs`; devices with a connection to one of their ports come last. Requests in flight
 * continue. Resolves immediately if no other node is alive, and early if the last other node stops.
 */
export async function drain(options: DrainOptions): Promise<void> {
  const { node, devices, gateway, readiness, stopListening, drainMs, signal, log } = options
  if (drainMs === 0 || !(await node.startDraining())) return
  const endsAtMs = performance.now() + drainMs
  log.info({ devices: devices.connectedCount, secs: drainMs / 1000 }, 'other nodes take the devices')
  readiness.startDraining()
  gateway.drain()
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {})
  await pause(Math.min(MAX_LISTEN_MS, drainMs * LISTEN_SHARE))
  stopListening()
  let released = 0
  while (!signal.aborted && node.hasSuccessor && devices.connectedCount > 0) {
    const leftMs = endsAtMs - performance.now()
    if (leftMs <= 0) break
    const portions = Math.max(1, Math.ceil(leftMs / PORTION_MS))
    released += devices.release(Math.ceil(devices.connectedCount / portions), GO_AWAY.shutdown)
    await pause(Math.min(leftMs, PORTION_MS))
  }
  log.info({ released }, 'devices were handed over')
}
