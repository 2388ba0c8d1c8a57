import type { Channel, OpenOptions } from '@muster/link'

/** How long a device may take to accept a connection to one of its ports, in milliseconds. */
const OPEN_TIMEOUT_MS = 15_000

/** A live connection of a device, as far as others have to do with it. */
export type DeviceSession = {
  readonly deviceId: string
  readonly projectId: string
  readonly organizationId: string
  readonly tokenId: string
  readonly certificateId: string
  /** The connection as recorded; nothing before that, and for one that is not registered. */
  readonly connectionId: string | undefined
  /** Resolves when the connection is over. */
  readonly ended: Promise<unknown>
  /** Opens a channel to the device (protocol 3.1); rejects with the errors of a link. */
  open(endpoint: string, options?: OpenOptions): Promise<Channel>
  /** Ends the connection; the reason goes to the device and to the log. */
  close(reason: string): void
}

/** Opens a channel to a TCP port of a device; rejects with the errors of a link. */
export function openPort(session: DeviceSession, port: number): Promise<Channel> {
  return session.open(`forward/tcp/${port}`, { timeoutMs: OPEN_TIMEOUT_MS })
}

/** Why a connection ends when its device has made another. */
export const REPLACED = 'replaced by a newer connection of this device'

/** Every device connection that this node holds, registered or not, so that what ends a right ends the connection too. */
export class DeviceRegistry {
  readonly #sessions = new Set<DeviceSession>()
  readonly #registered = new Map<string, DeviceSession>()

  get sessions(): readonly DeviceSession[] {
    return [...this.#sessions]
  }

  add(session: DeviceSession): void {
    this.#sessions.add(session)
  }

  /** Makes a session the device's own; the one before is returned for the caller to end (decisions: the newest wins). */
  register(session: DeviceSession): DeviceSession | undefined {
    const before = this.#registered.get(session.deviceId)
    this.#registered.set(session.deviceId, session)
    return before
  }

  remove(session: DeviceSession): void {
    this.#sessions.delete(session)
    if (this.#registered.get(session.deviceId) === session) this.#registered.delete(session.deviceId)
  }

  /** The registered connection of a device on this node. */
  get(deviceId: string): DeviceSession | undefined {
    return this.#registered.get(deviceId)
  }

  /** Ends every connection that matches, for example those of a deleted project. */
  closeWhere(match: Partial<Omit<DeviceSession, 'close' | 'ended' | 'open'>>, reason: string): void {
    const entries = Object.entries(match)
    for (const session of [...this.#sessions]) {
      if (entries.every(([key, value]) => session[key as keyof DeviceSession] === value))
        session.close(reason)
    }
  }
}
