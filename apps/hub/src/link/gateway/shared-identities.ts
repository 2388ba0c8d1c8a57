import { type DeviceCaller, SYSTEM } from '../../platform/pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../../platform/pipeline/command-transaction.ts'
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

type Options = CommandParts & { counts: ConnectionCounts }

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
    const { log } = this.#options
    const { deviceId, projectId, organizationId } = caller
    const { takeovers, addresses } = shared
    const store = async ({ tx, events, changed }: CommandTransaction): Promise<boolean> => {
      changed('devices', { projectId, deviceId })
      const isNew = await storeSharedIdentity(tx, deviceId, shared)
      if (isNew) await events.emit('devices_IdentityShared', { projectId, deviceId, takeovers, addresses })
      return isNew
    }
    const cause = { caller: SYSTEM, scope: { organizationId } }
    if (await commandTransaction(store, cause, this.#options))
      log.warn({ deviceId, projectId, takeovers, addresses }, 'two machines share the identity of a device')
  }
}
