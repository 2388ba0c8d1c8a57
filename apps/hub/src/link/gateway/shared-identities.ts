import { recordEvent } from '../../platform/audit/events.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { type DeviceCaller, SYSTEM } from '../../platform/pipeline/caller.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { ConnectionCounts } from './connection-counts.ts'
import {
  recentConnections,
  type SharedIdentity,
  sharedIdentity,
  storeSharedIdentity,
} from './shared-identity.ts'

/** Devices per query. */
const MAX_DEVICES = 100
/** Maximum number of devices that wait. A further device is looked at after its next takeover. */
const MAX_WAITING = 10_000

type Options = {
  db: Db
  log: Logger
  counts: ConnectionCounts
  /** Notifies open consoles. */
  changed: (topic: 'devices' | 'log', caller: DeviceCaller) => void
}

/**
 * Finds machines that use one identity and take the connection of their device over from each other, for example after a disk was copied.
 * Looks at a device after each takeover. The connections of all nodes are in the database, so it does not matter which node held them.
 */
export class SharedIdentities {
  readonly #options: Options
  readonly #waiting = new Map<string, DeviceCaller>()
  #isRunning = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Looks at a device whose connection a newer one has taken over. The end of the older connection must be stored. */
  takenOver(caller: DeviceCaller): void {
    this.#options.counts.takenOver()
    if (this.#waiting.size >= MAX_WAITING) return
    this.#waiting.set(caller.deviceId, caller)
    if (!this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    try {
      while (this.#waiting.size > 0) {
        const callers = [...this.#waiting.values()].slice(0, MAX_DEVICES)
        for (const { deviceId } of callers) this.#waiting.delete(deviceId)
        const found = await recentConnections(
          this.#options.db,
          callers.map(({ deviceId }) => deviceId),
        )
        for (const caller of callers) {
          const shared = sharedIdentity(found.get(caller.deviceId) ?? [])
          if (shared) await this.#report(caller, shared)
        }
      }
    } catch (error) {
      this.#options.log.error({ err: error }, 'could not look for machines that share an identity')
    } finally {
      this.#isRunning = false
    }
  }

  async #report(caller: DeviceCaller, shared: SharedIdentity): Promise<void> {
    const { db, log, changed } = this.#options
    const { deviceId, projectId, organizationId } = caller
    const { takeovers, addresses } = shared
    const isNew = await db.transaction().execute(async tx => {
      const isNewOne = await storeSharedIdentity(tx, deviceId, shared)
      if (isNewOne)
        await recordEvent(tx, { caller: SYSTEM, scope: { organizationId } }, 'devices_IdentityShared', {
          projectId,
          deviceId,
          takeovers,
          addresses,
        })
      return isNewOne
    })
    changed('devices', caller)
    if (!isNew) return
    changed('log', caller)
    log.warn({ deviceId, projectId, takeovers, addresses }, 'two machines share the identity of a device')
  }
}
