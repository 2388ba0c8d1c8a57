import type { InFlight } from '@muster/concurrency'
import {
  type Channel,
  type ChannelRequest,
  DEFAULT_LIMITS,
  type ExecutorCall,
  type ExecutorOptions,
  type ExecutorRunner,
  GO_AWAY,
  type Link,
  type LinkEnd,
  type LinkLimits,
  type LinkOptions,
  type OpenOptions,
  serveExecutor,
} from '@muster/link'
import { retryWhileUnavailable } from '../../platform/database/client/retry-while-unavailable.ts'
import type { InputBudgets } from '../../platform/limits/input-budgets.ts'
import type { DeviceCaller } from '../../platform/pipeline/caller.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import { type DeviceRegistry, type DeviceSession, REPLACED } from '../links/registry.ts'
import type { Connected } from './authenticate.ts'
import type { ConnectionCounts } from './connection-counts.ts'
import type { Presence } from './presence.ts'
import type { SharedIdentities } from './shared-identities.ts'

/**
 * Maximum time between the hub's Pings to a peer that sends Pings itself, in milliseconds. The Pings of such a peer show that
 * it is alive, so the hub's Pings only measure the round trip. A silent peer gets a Ping every 5 s.
 */
export const MAX_PING_INTERVAL_MS = 60_000

/** Processor time for the return of a device with client certificate, in milliseconds (`npm run bench -- fleet`). */
const RETURN_MS_PER_DEVICE = 2
/** Longest time that the hub names for the return of its devices (docs/protocol.md R-26), in seconds: the ceiling of the agent's pauses. */
const MAX_RETURN_SECS = 60

/**
 * Limits of links to devices (docs/protocol.md 2.10). Each one-shot command of a 2026 agent opens a channel on the link of the agent's
 * service (docs/protocol.md 3.8). Scripts may run many commands per second, so the limit of requests per second is high enough not to end
 * the link. The limits of open channels and of frames per second also apply to one-shot commands.
 *
 * A 2026 agent may have 32 requests pending and 32 channels open. The 16 channels that the hub may open itself are added (docs/protocol.md
 * While the hub has fewer channels open, the rest is room for channels that only the agent has closed.
 */
const LIMITS = {
  requestsPerSecond: 1024,
  maxPendingRequests: 32,
  maxChannels: 32 + DEFAULT_LIMITS.maxOpenedChannels,
}

/** Parts of the hub that the connections of all devices share. */
export type DeviceServices = {
  presence: Presence
  sharedIdentities: SharedIdentities
  devices: DeviceRegistry
  /** Tracks the writes of connection rows, which must finish before the hub stops. */
  connections: InFlight
  log: Logger
  counts: ConnectionCounts
  inputs: InputBudgets
  /** Notifies open consoles. */
  changed: (topic: 'devices' | 'connections', caller: DeviceCaller) => void
  /** Runs an action that a device calls. */
  execute: (
    caller: DeviceCaller,
    link: Link,
    remote: string,
    name: string,
    input: Uint8Array,
  ) => Promise<string>
  /** Runs an action that a device calls, and calls `answer`. Returns false if `execute` must run it. */
  executeOverLane: (
    caller: DeviceCaller,
    link: Link,
    name: string,
    input: Uint8Array,
    answer: (text: string) => void,
  ) => boolean
  /** True while the node hands its devices over to other nodes and stops. */
  isDraining: () => boolean
  isClosing: () => boolean
}

/** Request of a connection: whether it is registered, and the instance of the agent if it is reported (docs/protocol.md 1.2). */
type Beginning = { isRegistered: boolean; instance: string | undefined }

/**
 * The connection of a device from its first frame to its end. Each device has a connection that is mostly idle, so its memory
 * must be small: the object itself serves as the options of its link and as the runner of its actions, stores nothing twice, and has no
 * promise for the end of the connection.
 */
export class DeviceConnection implements DeviceSession, LinkOptions, ExecutorRunner {
  readonly certificateId: string
  readonly #services: DeviceServices
  readonly #caller: DeviceCaller
  readonly #remote: string
  #link: Link | undefined
  /** Promise that is pending until the device is admitted or refused. Channel requests of the device wait for it. */
  #admission: Promise<boolean> | undefined
  /**
   * Id of the connection's row. Undefined until the row is written, and for unregistered connections (of one-shot commands), which
   * have no row.
   */
  #connectionId: string | undefined
  #openedChannels = 0
  /** Number of actions that the device has called and that are not answered yet. */
  #runningActions = 0
  /** Options of all executor channels (over which the device runs actions) of this connection. The first channel creates them. */
  #executorOptions: ExecutorOptions | undefined

  constructor(
    services: DeviceServices,
    { caller, certificateId }: Connected & { kind: 'device' },
    remote: string,
  ) {
    this.#services = services
    this.#caller = caller
    this.certificateId = certificateId
    this.#remote = remote
  }

  get deviceId(): string {
    return this.#caller.deviceId
  }

  get projectId(): string {
    return this.#caller.projectId
  }

  get organizationId(): string {
    return this.#caller.organizationId
  }

  get tokenId(): string {
    return this.#caller.tokenId
  }

  get connectionId(): string | undefined {
    return this.#connectionId
  }

  get maxPingIntervalMs(): number {
    return MAX_PING_INTERVAL_MS
  }

  /** Fits the fleet of this node: at the cost of a return, the hub's thread is busy for that time when all come back. */
  get returnWithinMs(): number {
    const wholeSecs = Math.ceil((this.#services.devices.connectedCount * RETURN_MS_PER_DEVICE) / 1000)
    return 1000 * Math.min(MAX_RETURN_SECS, Math.max(1, wholeSecs))
  }

  get limits(): Partial<LinkLimits> {
    return LIMITS
  }

  /** Admits the device or closes the link. Resolves when that is done and the row of a registered connection is written. */
  async begin(link: Link, { isRegistered, instance }: Beginning): Promise<void> {
    this.#link = link
    // The session is added before `#admit` reads the rights again, so that no ended right is missed. A right that ends after the
    // addition closes the session. A right that ended earlier is found by `#admit`.
    this.#services.devices.add(this)
    this.#admission = this.#admit(link, { isRegistered, instance })
    await this.#admission
    this.#admission = undefined
    if (link.end) await this.#leave(link.end)
  }

  get ended(): Promise<LinkEnd> {
    return this.#link!.ended
  }

  get openedChannels(): number {
    return this.#openedChannels
  }

  get isIdle(): boolean {
    return this.#openedChannels === 0 && this.#runningActions === 0
  }

  async open(endpoint: string, options?: OpenOptions): Promise<Channel> {
    const channel = await this.#link!.open(endpoint, options)
    this.#openedChannels++
    void channel.closed.then(() => this.#openedChannels--)
    return channel
  }

  close(reason: string): void {
    this.#link!.close(reason)
  }

  onRequest(request: ChannelRequest): void {
    if (this.#admission === undefined) this.#serve(request)
    else
      this.#admission
        .then(isAdmitted => isAdmitted && this.#serve(request))
        .catch(error => this.#services.log.error({ ...this.#about, err: error }, 'channel not served'))
  }

  runAction(name: string, input: Uint8Array, call: ExecutorCall): Promise<string> | undefined {
    this.#runningActions++
    const { execute, executeOverLane } = this.#services
    const answer = (text: string): void => {
      this.#runningActions--
      call.answer(text)
    }
    if (executeOverLane(this.#caller, this.#link!, name, input, answer)) return undefined
    return execute(this.#caller, this.#link!, this.#remote, name, input).finally(() => this.#runningActions--)
  }

  onError(error: unknown): void {
    this.#services.log.error({ ...this.#about, err: error }, 'link failed')
  }

  onEnded(end: LinkEnd): void {
    // While `#admit` is still running, its caller `begin` records the end of the connection when `#admit` has finished.
    if (this.#admission === undefined) void this.#services.connections.track(this.#leave(end))
  }

  async #admit(link: Link, { isRegistered, instance }: Beginning): Promise<boolean> {
    const { presence, devices, log, changed, counts } = this.#services
    const { deviceId, tokenId, certificateId } = this
    if (!link.isOpen) return false
    try {
      if (isRegistered)
        this.#connectionId = await presence.open({
          deviceId,
          tokenId,
          certificateId,
          address: this.#remote,
          instance,
        })
      const isAdmitted = isRegistered
        ? this.#connectionId !== undefined
        : await retryWhileUnavailable(
            () => presence.mayConnect({ tokenId, certificateId }),
            () => !link.isOpen,
          )
      if (!isAdmitted) link.close('certificate or token is no longer valid')
      else if (this.#connectionId !== undefined && link.isOpen) {
        devices.register(this)?.close(REPLACED)
        log.debug({ ...this.#about, connectionId: this.#connectionId }, 'device connected')
        changed('devices', this.#caller)
        changed('connections', this.#caller)
      }
      if (isAdmitted) counts.connected(isRegistered)
      return isAdmitted
    } catch (error) {
      log.error({ ...this.#about, err: error }, 'connection not recorded')
      link.close('the connection could not be recorded')
      return false
    }
  }

  #serve(request: ChannelRequest): void {
    if (request.endpoint !== 'executor') {
      request.reject('unknown endpoint')
      return
    }
    this.#executorOptions ??= this.#services.inputs.optionsFor(this.#caller)
    serveExecutor(request.accept(), this, this.#executorOptions)
  }

  /** Records the end of the connection. */
  async #leave(end: LinkEnd): Promise<void> {
    const { presence, devices, sharedIdentities, log, changed, isDraining, isClosing, counts } =
      this.#services
    counts.ended(end.kind)
    const connectionId = this.#connectionId
    logEnd(log, { ...this.#about, connectionId, isRegistered: connectionId !== undefined }, end)
    devices.remove(this)
    // On shutdown all connections of the node are closed in one statement.
    if (connectionId === undefined || isClosing()) return
    try {
      const isShutdown = end.kind === 'LocalClose' && (isDraining() || end.reason === GO_AWAY.rebalance)
      const wasTakenOver = end.kind === 'LocalClose' && end.reason === REPLACED
      const reason = isShutdown && !wasTakenOver ? 'ServerShutdown' : 'Disconnected'
      await presence.close(connectionId, reason, wasTakenOver)
      if (wasTakenOver) sharedIdentities.takenOver(this.#caller)
    } catch (error) {
      log.error({ ...this.#about, err: error }, 'end of connection not recorded')
    }
    changed('devices', this.#caller)
    changed('connections', this.#caller)
  }

  get #about(): object {
    return { deviceId: this.deviceId, projectId: this.projectId, remote: this.#remote }
  }
}

/** Logs the end of a link: as a warning if the peer (device or client) was at fault, else at level debug. */
export function logEnd(log: Logger, about: object, end: LinkEnd): void {
  const isFault = end.kind === 'Violation' || end.kind === 'ConsumerTooSlow'
  log[isFault ? 'warn' : 'debug']({ ...about, end: end.kind, reason: end.reason }, 'connection ended')
}
