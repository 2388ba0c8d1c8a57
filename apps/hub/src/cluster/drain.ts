import { setTimeout as sleep } from 'node:timers/promises'
import { GO_AWAY } from '@muster/link'
import type { Readiness } from '../database/server/readiness.ts'
import type { DeviceRegistry } from '../links/registry.ts'
import type { Logger } from '../runtime/log.ts'
import type { ClusterNode } from './node.ts'

/** Time for which new connections are still accepted, in milliseconds: load balancers look for a failed `/readyz` every 1 to 5 s. */
const MAX_LISTEN_MS = 2_000
/** Share of the whole time for which new connections are still accepted, at most. */
const LISTEN_SHARE = 0.2
/** Interval of the portions of devices, in milliseconds. */
const PORTION_MS = 100

type DrainOptions = {
  node: ClusterNode
  devices: DeviceRegistry
  /** Refuses further devices. */
  gateway: { drain(): void }
  readiness: Readiness
  /** Stops listening for new connections and closes idle ones. */
  stopListening: () => void
  /** Time in which the devices go, in milliseconds; 0 to let all of them go at the stop. */
  drainMs: number
  /** Ends the wait. */
  signal: AbortSignal
  log: Logger
}

/**
 * Hands the devices of a stopping node over to other nodes: `/readyz` fails, upgrades are refused, the listeners close, and the devices
 * are asked to go in portions spread over `drainMs`, those without an open connection to one of their ports first. Requests in flight
 * go on. Resolves at once if no other node is alive, and earlier if the last one goes.
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
