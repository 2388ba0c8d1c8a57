import type { LiveChange } from '@muster/actions'

type Subscriber = {
  userId: string
  organizationIds: ReadonlySet<string>
  pending: Map<string, LiveChange>
  deliver: (changes: LiveChange[]) => void
}

/** Time for which notices are collected before delivery, in milliseconds. A console shows a change within 1 s. */
const COLLECT_MS = 200
/**
 * Limit of pending notices of a subscriber. Beyond it, changes of single devices are merged into one change of the devices'
 * project.
 */
const MAX_NAMED_DEVICES = 200

/** Limit of devices whose last reported values are kept in memory. It exceeds the number of devices that one node serves. */
const MAX_SUMMARIES = 50_000

/** Notifies open consoles of changes. Changes are collected for 200 ms. A timer runs only while notices are pending. */
export class LiveHub {
  readonly #subscribers = new Set<Subscriber>()
  /** Last reported values by device id, oldest entry first. */
  readonly #summaries = new Map<string, Readonly<Record<string, string>>>()
  #timer: NodeJS.Timeout | undefined

  /** Number of open subscriptions. */
  get subscriberCount(): number {
    return this.#subscribers.size
  }

  /**
   * Subscribes a person to changes of organizations. Calling the returned function replaces the set of organizations. Calling
   * the function with `undefined` unsubscribes.
   */
  subscribe(
    userId: string,
    organizationIds: ReadonlySet<string>,
    deliver: (changes: LiveChange[]) => void,
  ): (organizationIds: ReadonlySet<string> | undefined) => void {
    const subscriber: Subscriber = { userId, organizationIds, pending: new Map(), deliver }
    this.#subscribers.add(subscriber)
    return next => {
      if (next) subscriber.organizationIds = next
      else this.#subscribers.delete(subscriber)
    }
  }

  /**
   * Notes a reported value that device lists show. A repeated value causes no notice. After any other change of the device, the stored
   * value may have been overwritten, so the next report causes a notice even if its value is the same.
   */
  reported(change: LiveChange & { deviceId: string }, column: string, value: string): void {
    const { deviceId } = change
    const summary = this.#summaries.get(deviceId)
    if (summary?.[column] === value) return
    this.changed(change)
    this.#summaries.set(deviceId, { ...summary, [column]: value })
    if (this.#summaries.size > MAX_SUMMARIES) this.#summaries.delete(this.#summaries.keys().next().value!)
  }

  /** Notes a change for all subscribers of its organization, and for `userIds`, such as people who have just become members. */
  changed(change: LiveChange, userIds: readonly string[] = []): void {
    if (change.topic === 'devices' && change.deviceId !== undefined) this.#summaries.delete(change.deviceId)
    for (const subscriber of this.#subscribers) {
      const isConcerned =
        subscriber.organizationIds.has(change.organizationId) || userIds.includes(subscriber.userId)
      if (!isConcerned) continue
      const { deviceId, ...projectChange } = change
      const isTooMany = deviceId !== undefined && subscriber.pending.size >= MAX_NAMED_DEVICES
      const notice: LiveChange = isTooMany ? projectChange : change
      subscriber.pending.set(
        `${notice.topic} ${notice.organizationId} ${notice.projectId ?? ''} ${notice.deviceId ?? ''} ${notice.repositoryId ?? ''}`,
        notice,
      )
      this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS)
    }
  }

  #flush(): void {
    this.#timer = undefined
    for (const subscriber of this.#subscribers) {
      if (subscriber.pending.size === 0) continue
      const changes = [...subscriber.pending.values()]
      subscriber.pending = new Map()
      subscriber.deliver(changes)
    }
  }

  /** Ends all subscriptions without delivering pending notices. */
  close(): void {
    clearTimeout(this.#timer)
    this.#subscribers.clear()
  }
}
