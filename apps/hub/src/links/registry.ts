import type { Channel, OpenOptions } from '@muster/link'

/** Timeout for a device to accept a connection to one of its ports, in milliseconds. */
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
  /** Opens a channel to the device (docs/protocol.md 3.1). Rejects with `ChannelRejectedError` or `LinkEndedError`. */
  open(endpoint: string, options?: OpenOptions): Promise<Channel>
  /** Closes the connection. The reason is sent to the device and logged. */
  close(reason: string): void
}

/** Opens a channel to a TCP port of a device. Rejects with `ChannelRejectedError` or `LinkEndedError`. */
export function openPort(session: DeviceSession, port: number): Promise<Channel> {
  return session.open(`forward/tcp/${port}`, { timeoutMs: OPEN_TIMEOUT_MS })
}

/** Close reason of a connection whose device has opened a newer one. */
export const REPLACED = 'replaced by a newer connection of this device'

/**
 * All device connections of this node. At most one connection of each device is registered (docs/protocol.md R-4). Code that revokes a
 * right closes the connections that depend on the right.
 */
export class DeviceRegistry {
  readonly #sessions = new Set<DeviceSession>()
  readonly #registered = new Map<string, DeviceSession>()

  get sessions(): readonly DeviceSession[] {
    return [...this.#sessions]
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

  /** Returns the registered connection of a device on this node, or undefined if there is none. */
  get(deviceId: string): DeviceSession | undefined {
    return this.#registered.get(deviceId)
  }

  /** Closes every connection that has the values in `match`, for example the id of a deleted project. */
  closeWhere(match: Partial<Omit<DeviceSession, 'close' | 'ended' | 'open'>>, reason: string): void {
    const entries = Object.entries(match)
    for (const session of [...this.#sessions]) {
      if (entries.every(([key, value]) => session[key as keyof DeviceSession] === value))
        session.close(reason)
    }
  }
}
