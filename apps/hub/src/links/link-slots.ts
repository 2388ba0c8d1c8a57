import type { Socket } from 'node:net'
import { LimitReached } from '../limits/limit-reached.ts'
import type { LimitValues } from '../limits/limits.ts'
import { descriptorsForDevices } from '../runtime/descriptors.ts'

/** The device of a link, with its token, project and organization. */
type Owner = { deviceId: string; tokenId: string; projectId: string; organizationId: string }
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
const RETRY_AFTER_SECS = 30

/**
 * Counts the file descriptors that device connections hold on this node, and limits further connections. An unregistered link,
 * which each one-shot command of an agent opens, counts for its device and its organization. The unregistered links of an
 * organization hold at most a share of the descriptors that other connections leave free. Some descriptors are therefore always
 * left, even when several organizations use up their shares. A token needs no limit of its own, because it belongs to one
 * organization.
 */
export class LinkSlots implements Disposable {
  readonly #capacity: number
  readonly #values: LimitValues
  readonly #maxWaitMs: number
  readonly #byDevice = new Map<string, number>()
  readonly #byOrganization = new Map<string, number>()
  /** Links that wait for their organization's share, oldest first. */
  readonly #waiting = new Map<string, Waiting[]>()
  #sweep: NodeJS.Timeout | undefined
  #held = 0

  constructor({
    maxDescriptors,
    values,
    maxWaitMs = MAX_WAIT_MS,
  }: { maxDescriptors: number; values: LimitValues; maxWaitMs?: number }) {
    this.#capacity = descriptorsForDevices(maxDescriptors)
    this.#values = values
    this.#maxWaitMs = maxWaitMs
  }

  /**
   * True when device connections hold all descriptors that they may hold. The other descriptors are reserved for people and
   * health checks.
   */
  get isFull(): boolean {
    return this.#held >= this.#capacity
  }

  /** Limit of descriptors that all devices together may hold. */
  get capacity(): number {
    return this.#capacity
  }

  /** Number of file descriptors that connections of devices hold. */
  get heldCount(): number {
    return this.#held
  }

  /** Counts the socket of an upgrade request until it closes, whether it is admitted or not. */
  hold(socket: Socket): void {
    this.#held++
    // All sockets share this listener. `once` would make a closure for each socket, and there are many sockets of idle devices. A socket
    // emits `close` only once, so `on` suffices.
    socket.on('close', this.#released)
  }

  readonly #released = (): void => {
    this.#held--
  }

  /** Number of unregistered links of a device on this node. */
  countOf(deviceId: string): number {
    return this.#byDevice.get(deviceId) ?? 0
  }

  /**
   * Takes a slot for an unregistered link until its socket closes. Waits while the share of the link's organization is used up.
   * Throws `LimitReached` when the device has too many links, when too many links of the organization wait, or after a timeout.
   */
  async take(owner: Owner, socket: Socket): Promise<void> {
    this.#takeOfDevice(owner)
    try {
      await this.#takeOfOrganization(owner)
    } catch (error) {
      subtract(this.#byDevice, owner.deviceId)
      throw error
    }
    const release = (): void => {
      subtract(this.#byDevice, owner.deviceId)
      this.#leave(owner.organizationId)
    }
    if (socket.destroyed) release()
    else socket.once('close', release)
  }

  /** Refuses the waiting links. */
  [Symbol.dispose](): void {
    clearInterval(this.#sweep)
    for (const waiting of this.#waiting.values()) for (const { expire } of waiting) expire()
    this.#waiting.clear()
  }

  #takeOfDevice(owner: Owner): void {
    const max = this.#values['device-unregistered-links']
    const count = this.countOf(owner.deviceId)
    if (count >= max) {
      throw new LimitReached({
        limit: 'device-unregistered-links',
        subject: owner,
        max,
        found: max + 1,
        remedy: 'Let other one-shot commands of the device end first.',
        retryAfterSecs: RETRY_AFTER_SECS,
      })
    }
    this.#byDevice.set(owner.deviceId, count + 1)
  }

  async #takeOfOrganization({ organizationId, ...owner }: Owner): Promise<void> {
    const waiting = this.#waiting.get(organizationId)
    if (!waiting && this.#hasShare(organizationId, 1)) {
      this.#byOrganization.set(organizationId, this.#countOfOrganization(organizationId) + 1)
      return
    }
    if (this.#mayWait(organizationId, (waiting?.length ?? 0) + 1) && (await this.#wait(organizationId)))
      return
    const max = this.#values['organization-link-share']
    throw new LimitReached({
      limit: 'organization-link-share',
      subject: { organizationId, ...owner },
      max,
      found: max + 1,
      remedy: 'Let other one-shot commands of the devices of the organization end first.',
      retryAfterSecs: RETRY_AFTER_SECS,
    })
  }

  #countOfOrganization(organizationId: string): number {
    return this.#byOrganization.get(organizationId) ?? 0
  }

  /**
   * Returns the number of descriptors that are free or held by unregistered links of the organization. `waiting` is the number of
   * the organization's links without a slot, including the current one. Sockets of waiting links are part of `#held`.
   */
  #freeFor(organizationId: string, waiting: number): number {
    return this.#capacity - this.#held + this.#countOfOrganization(organizationId) + waiting
  }

  #hasShare(organizationId: string, waiting: number): boolean {
    const share = this.#values['organization-link-share'] / 100
    const max = share * this.#freeFor(organizationId, waiting)
    return this.#countOfOrganization(organizationId) + 1 <= Math.max(1, max)
  }

  /**
   * Whether one more link may wait. Waiting links hold descriptors as well. Beyond the organization's share, they may use half of the
   * descriptors that are left.
   */
  #mayWait(organizationId: string, waiting: number): boolean {
    const share = (1 + this.#values['organization-link-share'] / 100) / 2
    return (
      this.#countOfOrganization(organizationId) + waiting <= share * this.#freeFor(organizationId, waiting)
    )
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
    subtract(this.#byOrganization, organizationId)
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
    const now = performance.now()
    let done = 0
    for (const { admit, expire, deadline } of waiting) {
      if (deadline < now) expire()
      else if (this.#hasShare(organizationId, waiting.length - done)) {
        this.#byOrganization.set(organizationId, this.#countOfOrganization(organizationId) + 1)
        admit()
      } else break
      done++
    }
    waiting.splice(0, done)
    if (waiting.length === 0) this.#waiting.delete(organizationId)
  }
}

function subtract(counts: Map<string, number>, key: string): void {
  const count = (counts.get(key) ?? 0) - 1
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
