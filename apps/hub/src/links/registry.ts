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
  /** Id of the connection's row. Undefined until the row is written, and for unregistered connections. */
  readonly connectionId: string | undefined
  /** Resolves when the connection has ended. */
  readonly ended: Promise<unknown>
  /** Opens a channel to the device (protocol 3.1); rejects with the errors of a link. */
  open(endpoint: string, options?: OpenOptions): Promise<Channel>
  /** Closes the connection. The reason is sent to the device and logged. */
  close(reason: string): void
}

/** Opens a channel to a TCP port of a device. Rejects with the errors of a link. */
export function openPort(session: DeviceSession, port: number): Promise<Channel> {
  return session.open(`forward/tcp/${port}`, { timeoutMs: OPEN_TIMEOUT_MS })
}

/** Close reason of a connection whose device has opened a newer one. */
export const REPLACED = 'replaced by a newer connection of this device'

/** All device connections of this node, registered or not. Code that revokes a right closes the connections that depend on it. */
export class DeviceRegistry {
  readonly #sessions = new Set<DeviceSession>()
  readonly #registered = new Map<string, DeviceSession>()

  get sessions(): readonly DeviceSession[] {
    return [...this.#sessions]
  }

  add(session: DeviceSession): void {
    this.#sessions.add(session)
  }

  /**
   * Makes a session the registered session of its device. Returns the session that was registered before. The caller closes it,
   * because the newest connection wins (decisions, "Connections").
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

  /** Returns the registered connection of a device on this node; undefined without one. */
  get(deviceId: string): DeviceSession | undefined {
    return this.#registered.get(deviceId)
  }

  /** Closes every connection that matches, for example those of a deleted project. */
  closeWhere(match: Partial<Omit<DeviceSession, 'close' | 'ended' | 'open'>>, reason: string): void {
    const entries = Object.entries(match)
    for (const session of [...this.#sessions]) {
      if (entries.every(([key, value]) => session[key as keyof DeviceSession] === value))
        session.close(reason)
    }
  }
}
