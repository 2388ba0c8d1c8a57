import type { Socket } from 'node:net'
import { subtract } from './counts.ts'
import { LimitReached } from './limit-reached.ts'
import type { LimitValues } from './limits.ts'

/** The device of a link, with its token, project and organization. */
export type DeviceOwner = { deviceId: string; tokenId: string; projectId: string; organizationId: string }
type Waiting = { admit: () => void; expire: () => void; deadline: number }

/**
 * Longest wait of a link while the share of its organization is used up, in milliseconds. Equal to the deadline for authentication
 * (docs/decisions.md, "Tokens and enrolment").
 */
const MAX_WAIT_MS = 30_000
/**
 * Interval at which waiting links are checked, in milliseconds. When connections of other organizations close, the share of the
 * waiting links' organization grows.
 */
const SWEEP_MS = 250
/** `Retry-After` of a refused link, in seconds. One-shot commands take only seconds, so slots are free again by then. */
export const RETRY_AFTER_SECS = 30

/** Share of the free descriptors that links of a person held in the release before, in percent. */
const FORMER_PERSON_SHARE = 50

type LinkSharesOptions = {
  /** Number of file descriptors that all links together may hold. */
  capacity: number
  values: LimitValues
  maxWaitMs?: number | undefined
}

/**
 * Counts the file descriptors that links hold on this node, and limits further links. An unregistered link, which each one-shot command
 * of an agent opens, counts for its device and its organization; a registered link, the one connection of a device, counts for its
 * organization by itself; a link of a command line counts for its person. The links of an organization or person hold at most a share of
 * the descriptors that other links leave free. Some descriptors are therefore always left, even when several organizations use up their
 * shares. A token needs no limit of its own, because it belongs to one organization or person.
 */
export class LinkShares implements Disposable {
  readonly capacity: number
  readonly #values: LimitValues
  readonly #maxWaitMs: number
  readonly #byDevice = new Map<string, number>()
  /** Unregistered links and links of command lines by the id of their organization or person. */
  readonly #byOwner = new Map<string, number>()
  /** Registered links by the id of their organization. */
  readonly #registered = new Map<string, number>()
  /** The organization of the socket of each registered link. */
  readonly #organizationOf = new WeakMap<Socket, string>()
  /** Links that wait for their organization's share, oldest first. */
  readonly #waiting = new Map<string, Waiting[]>()
  /**
   * Ends what a socket held. All sockets share this listener. `once` would make a closure for each socket, and there are many sockets of idle
   * devices. A socket emits `close` only once, so `on` suffices.
   */
  readonly #released: (this: Socket) => void
  #sweep: NodeJS.Timeout | undefined
  #held = 0

  constructor({ capacity, values, maxWaitMs = MAX_WAIT_MS }: LinkSharesOptions) {
    this.capacity = capacity
    this.#values = values
    this.#maxWaitMs = maxWaitMs
    const release = (socket: Socket): void => {
      this.#held--
      const organizationId = this.#organizationOf.get(socket)
      if (organizationId !== undefined) subtract(this.#registered, organizationId)
    }
    this.#released = function () {
      release(this)
    }
  }

  /** Number of file descriptors that links hold. */
  get heldCount(): number {
    return this.#held
  }

  /** Number of unregistered links by device, of links by organization and person, and of registered links by organization. */
  get counts(): Readonly<Record<'byDevice' | 'byOwner' | 'registered', ReadonlyMap<string, number>>> {
    return { byDevice: this.#byDevice, byOwner: this.#byOwner, registered: this.#registered }
  }

  /** Counts the socket of an upgrade request until it closes, whether it is admitted or not. */
  hold(socket: Socket): void {
    this.#held++
    socket.on('close', this.#released)
  }

  /** Number of unregistered links of a device on this node. */
  countOf(deviceId: string): number {
    return this.#byDevice.get(deviceId) ?? 0
  }

  /**
   * Takes a slot for an unregistered link until its socket closes. Waits while the share of the link's organization is used up.
   * Throws `LimitReached` when the device has too many links, when too many links of the organization wait, or after a timeout.
   */
  async takeOfDevice(owner: DeviceOwner, socket: Socket): Promise<void> {
    this.#takeOne(owner)
    try {
      await this.#takeOfOrganization(owner)
    } catch (error) {
      subtract(this.#byDevice, owner.deviceId)
      throw error
    }
    releaseWith(socket, () => {
      subtract(this.#byDevice, owner.deviceId)
      this.#leave(owner.organizationId)
    })
  }

  /**
   * Takes a slot for the registered link of a device until its socket closes. Never waits. Throws `LimitReached` when devices of the
   * organization hold the share of the descriptors that an organization may hold.
   */
  takeRegistered({ organizationId, ...device }: DeviceOwner, socket: Socket): void {
    if (socket.destroyed) return
    const max = this.#values['organization-device-share']
    const count = this.#registered.get(organizationId) ?? 0
    if (!this.#hasShare(count, max, 1))
      throw new LimitReached({
        limit: 'organization-device-share',
        subject: { organizationId, ...device },
        max,
        found: this.#shareOf(count, 1),
        remedy: 'Start further nodes, or raise the limit of open files.',
        retryAfterSecs: RETRY_AFTER_SECS,
      })
    this.#registered.set(organizationId, count + 1)
    this.#organizationOf.set(socket, organizationId)
  }

  /**
   * Takes a slot for a link of a command line until its socket closes. Never waits. Throws `LimitReached` when the person holds the
   * share of the descriptors that a person may hold. With `warn`, for a token that predates this share, the share is that of the release
   * before, and links beyond the present one are reported to `warn`.
   */
  takeOfPerson(userId: string, socket: Socket, warn?: (reached: LimitReached) => void): void {
    const max = this.#values['person-link-share']
    const count = this.#countOfOwner(userId)
    if (!this.#hasShare(count, max, 1)) {
      const reached = new LimitReached({
        limit: 'person-link-share',
        subject: { userId },
        max,
        found: this.#shareOf(count, 1),
        remedy: 'Close links of command lines that are not used any more.',
        retryAfterSecs: RETRY_AFTER_SECS,
      })
      if (!warn || !this.#hasShare(count, FORMER_PERSON_SHARE, 1)) throw reached
      warn(reached)
    }
    this.#byOwner.set(userId, count + 1)
    releaseWith(socket, () => subtract(this.#byOwner, userId))
  }

  /** Refuses the waiting links. */
  [Symbol.dispose](): void {
    clearInterval(this.#sweep)
    for (const waiting of this.#waiting.values()) for (const { expire } of waiting) expire()
    this.#waiting.clear()
  }

  #takeOne(owner: DeviceOwner): void {
    const max = this.#values['device-unregistered-links']
    const count = this.countOf(owner.deviceId)
    if (count >= max) {
      throw new LimitReached({
        limit: 'device-unregistered-links',
        subject: owner,
        max,
        found: count + 1,
        remedy: 'Let other one-shot commands of the device end first.',
        retryAfterSecs: RETRY_AFTER_SECS,
      })
    }
    this.#byDevice.set(owner.deviceId, count + 1)
  }

  async #takeOfOrganization({ organizationId, ...owner }: DeviceOwner): Promise<void> {
    const max = this.#values['organization-link-share']
    // Descriptors that have become free belong to those who wait first. So a link is refused only beside a full share.
    this.#admit(organizationId)
    const waiting = this.#waiting.get(organizationId)
    const count = this.#countOfOwner(organizationId)
    if (!waiting && this.#hasShare(count, max, 1)) {
      this.#byOwner.set(organizationId, count + 1)
      return
    }
    if (this.#mayWait(organizationId, (waiting?.length ?? 0) + 1) && (await this.#wait(organizationId)))
      return
    throw new LimitReached({
      limit: 'organization-link-share',
      subject: { organizationId, ...owner },
      max,
      found: this.#shareOf(
        this.#countOfOwner(organizationId),
        (this.#waiting.get(organizationId)?.length ?? 0) + 1,
      ),
      remedy: 'Let other one-shot commands of the devices of the organization end first.',
      retryAfterSecs: RETRY_AFTER_SECS,
    })
  }

  #countOfOwner(ownerId: string): number {
    return this.#byOwner.get(ownerId) ?? 0
  }

  /**
   * Returns the number of descriptors that are free or held by the `count` links of an owner. `waiting` is the number of the owner's links
   * without a slot, including the current one. Sockets of waiting links are part of `#held`.
   */
  #freeFor(count: number, waiting: number): number {
    return this.capacity - this.#held + count + waiting
  }

  #hasShare(count: number, percent: number, waiting: number): boolean {
    return count + 1 <= Math.max(1, (percent / 100) * this.#freeFor(count, waiting))
  }

  /** Percentage of the descriptors of `#freeFor` that an owner would hold with one more link, rounded up. */
  #shareOf(count: number, waiting: number): number {
    return Math.ceil((100 * (count + 1)) / this.#freeFor(count, waiting))
  }

  /**
   * Whether one more link may wait. Waiting links hold descriptors as well. Beyond the organization's share, they may use half of the
   * descriptors that are left.
   */
  #mayWait(organizationId: string, waiting: number): boolean {
    const share = (1 + this.#values['organization-link-share'] / 100) / 2
    const count = this.#countOfOwner(organizationId)
    return count + waiting <= share * this.#freeFor(count, waiting)
  }

  #wait(organizationId: string): Promise<boolean> {
    this.#sweep ??= setInterval(() => this.#admitAll(), SWEEP_MS)
    return new Promise(resolve => {
      const one: Waiting = {
        admit: () => resolve(true),
        expire: () => resolve(false),
        deadline: performance.now() + this.#maxWaitMs,
      }
      const waiting = this.#waiting.get(organizationId)
      if (waiting) waiting.push(one)
      else this.#waiting.set(organizationId, [one])
    })
  }

  #leave(organizationId: string): void {
    subtract(this.#byOwner, organizationId)
    this.#admit(organizationId)
  }

  #admitAll(): void {
    for (const organizationId of this.#waiting.keys()) this.#admit(organizationId)
    if (this.#waiting.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  /**
   * Admits the oldest waiting links of an organization while its share allows, and refuses waiting links past their deadline.
   */
  #admit(organizationId: string): void {
    const waiting = this.#waiting.get(organizationId)
    if (!waiting) return
    const percent = this.#values['organization-link-share']
    const now = performance.now()
    let done = 0
    for (const { admit, expire, deadline } of waiting) {
      const count = this.#countOfOwner(organizationId)
      if (this.#hasShare(count, percent, waiting.length - done)) {
        this.#byOwner.set(organizationId, count + 1)
        admit()
      } else if (deadline < now) expire()
      else break
      done++
    }
    waiting.splice(0, done)
    if (waiting.length === 0) this.#waiting.delete(organizationId)
  }
}

/** Calls `release` when a socket closes, or immediately when it is closed already. */
function releaseWith(socket: Socket, release: () => void): void {
  if (socket.destroyed) release()
  else socket.once('close', release)
}
