import type { Channel, OpenOptions } from '@muster/link'
import type { EndedRight } from '../../platform/bus/messages.ts'

declare module '../../platform/pipeline/services.ts' {
  interface Services {
    devices: DeviceRegistry
  }
}

/** Timeout for a device to accept a channel, in milliseconds. */
const OPEN_TIMEOUT_MS = 15_000

/** An open connection of a device, as seen by modules outside of the gateway. */
export type DeviceSession = {
  readonly deviceId: string
  readonly projectId: string
  readonly organizationId: string
  readonly tokenId: string
  readonly certificateId: string
  /**
   * Id of the connection's row. Undefined until the row is written, and for unregistered connections, such as those of one-shot commands
   * (docs/protocol.md R-4).
   */
  readonly connectionId: string | undefined
  /** Resolves when the connection has ended. */
  readonly ended: Promise<unknown>
  /** Number of open channels that the hub has opened, such as connections to ports of the device. */
  readonly openedChannels: number
  /** True while the hub has no open channel to the device and the device runs no action. */
  readonly isIdle: boolean
  /** Opens a channel to the device (docs/protocol.md 3.1). Rejects with `ChannelRejectedError` or `LinkEndedError`. */
  open(endpoint: string, options?: OpenOptions): Promise<Channel>
  /** Closes the connection. The reason is sent to the device and logged. */
  close(reason: string): void
}

/** A connected device as the proxies use it, no matter to which node it is connected. */
export type ReachableDevice = Pick<DeviceSession, 'ended' | 'open'>

/** Opens a channel to an endpoint of a device. Rejects with `ChannelRejectedError` or `LinkEndedError`. */
export function openEndpoint(device: ReachableDevice, endpoint: string): Promise<Channel> {
  return device.open(endpoint, { timeoutMs: OPEN_TIMEOUT_MS })
}

/** Opens a channel to a TCP port of a device. Rejects with `ChannelRejectedError` or `LinkEndedError`. */
export function openPort(device: ReachableDevice, port: number): Promise<Channel> {
  return openEndpoint(device, `forward/tcp/${port}`)
}

/**
 * Whether a number is a TCP port. The hub never sends another number to a device, because agents released before 2026-03-03 exit when they
 * get one (docs/protocol.md R-18).
 */
export function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535
}

/** Close reason of a connection whose device has opened a newer connection. */
export const REPLACED = 'replaced by a newer connection of this device'

/**
 * All device connections of this node. At most one connection of each device is registered (docs/protocol.md R-4). Code that revokes a
 * right closes the connections that depend on the right.
 */
export class DeviceRegistry {
  readonly #sessions = new Set<DeviceSession>()
  readonly #registered = new Map<string, DeviceSession>()
  readonly #announce: (right: EndedRight) => void

  /** `announce` reports an ended right to the other nodes. */
  constructor(announce: (right: EndedRight) => void) {
    this.#announce = announce
  }

  get sessions(): readonly DeviceSession[] {
    return [...this.#sessions]
  }

  /** Number of connections, including unregistered connections. */
  get count(): number {
    return this.#sessions.size
  }

  /** Number of devices with a registered connection. */
  get connectedCount(): number {
    return this.#registered.size
  }

  add(session: DeviceSession): void {
    this.#sessions.add(session)
  }

  /**
   * Makes a session the registered session of its device. Returns the session that was registered before. The caller closes it, because
   * the newest connection wins (docs/decisions.md, "Connections").
   */
  register(session: DeviceSession): DeviceSession | undefined {
    const before = this.#registered.get(session.deviceId)
    this.#registered.set(session.deviceId, session)
    return before
  }

  remove(session: DeviceSession): void {
    this.#sessions.delete(session)
    if (this.#registered.get(session.deviceId) === session) this.#registered.delete(session.deviceId)
  }

  /**
   * Closes up to `count` registered connections, first those with the fewest channels that the hub has opened to the device. Returns the
   * number of closed connections.
   */
  release(count: number, reason: string): number {
    const released = this.leastUsed(count)
    for (const session of released) session.close(reason)
    return released.length
  }

  /** Up to `count` registered connections, first those with the fewest channels that the hub has opened to the device. */
  leastUsed(count: number): DeviceSession[] {
    if (count === 0) return []
    return [...this.#registered.values()].sort((a, b) => a.openedChannels - b.openedChannels).slice(0, count)
  }

  /** Registered connections of idle devices. */
  idle(): DeviceSession[] {
    return [...this.#registered.values()].filter(({ isIdle }) => isIdle)
  }

  /** Returns the registered connection of a device on this node, or undefined if there is none. */
  get(deviceId: string): DeviceSession | undefined {
    return this.#registered.get(deviceId)
  }

  /**
   * Ends a right, for example that of a deleted project, after the commit: closes the connections of this node that depend on it, and
   * makes the other nodes do the same.
   */
  endRight(right: EndedRight, reason: string): void {
    this.endRights([right], reason)
  }

  /** Ends several rights like `endRight`, with one pass over the connections. */
  endRights(rights: readonly EndedRight[], reason: string): void {
    const ids = new Set(rights.flatMap(right => Object.values(right)))
    for (const session of this.withIds(ids)) session.close(reason)
    for (const right of rights) this.#announce(right)
  }

  /** Connections whose device, certificate, token, project, organization or connection has one of these ids. */
  withIds(ids: ReadonlySet<string | undefined>): DeviceSession[] {
    return this.sessions.filter(
      ({ deviceId, certificateId, tokenId, projectId, organizationId, connectionId }) =>
        ids.has(deviceId) ||
        ids.has(certificateId) ||
        ids.has(tokenId) ||
        ids.has(projectId) ||
        ids.has(organizationId) ||
        ids.has(connectionId),
    )
  }

  /** Closes all connections of this node. */
  closeAll(reason: string): void {
    for (const session of this.sessions) session.close(reason)
  }
}
