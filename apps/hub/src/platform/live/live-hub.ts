import type { LiveChange } from '@muster/actions'
import type { Bus } from '../bus/bus.ts'

type Subscriber = {
  userId: string
  organizationIds: ReadonlySet<string>
  pending: Map<string, LiveChange>
  deliver: (changes: LiveChange[]) => void
  /** Called after changes of other nodes may have been missed. */
  missed: () => void
  /** Functions that end the subscriptions on the bus, by subject. */
  onBus: Map<`live.${string}`, () => void>
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

/** Topics of changes of the values of a device. */
const OF_DEVICE: ReadonlySet<LiveChange['topic']> = new Set([
  'devices',
  'properties',
  'connections',
  'certificates',
])

/**
 * Notifies open consoles of changes: consoles at this node directly, consoles at other nodes over the bus. Changes are collected for
 * 200 ms. A timer runs only while notices are pending.
 */
export class LiveHub {
  readonly #bus: Bus | undefined
  /** Pending notices for the other nodes by subject: `live.` with the id of an organization or of a person. */
  readonly #outgoing = new Map<`live.${string}`, Map<string, LiveChange>>()
  readonly #subscribers = new Set<Subscriber>()
  /** Last reported values that device lists show, by device id, oldest entry first. */
  readonly #summaries = new Map<string, Readonly<Record<string, string>>>()
  readonly #logListeners = new Set<() => void>()
  readonly #deviceListeners = new Set<(deviceId: string) => void>()
  #timer: NodeJS.Timeout | undefined

  /** `bus` is undefined if there are no other nodes. */
  constructor(bus?: Bus) {
    this.#bus = bus
    const missed = (): void => {
      for (const subscriber of this.#subscribers) subscriber.missed()
    }
    bus?.onStatus(({ isConnected }) => {
      if (isConnected) missed()
    })
    bus?.subscribe('losses', missed)
  }

  /** Resolves when changes of other nodes reach the subscribers, or cannot reach them because the bus is disconnected. */
  async subscribed(): Promise<void> {
    await this.#bus?.subscribed()
  }

  /** Number of open subscriptions. */
  get subscriberCount(): number {
    return this.#subscribers.size
  }

  /**
   * Subscribes a person to changes of organizations. Calls `missed` when changes of other nodes may have been lost. Calling the
   * returned function replaces the set of organizations. Calling the function with `undefined` unsubscribes.
   */
  subscribe(
    userId: string,
    organizationIds: ReadonlySet<string>,
    deliver: (changes: LiveChange[]) => void,
    missed: () => void = () => {},
  ): (organizationIds: ReadonlySet<string> | undefined) => void {
    const subscriber: Subscriber = {
      userId,
      organizationIds,
      pending: new Map(),
      deliver,
      missed,
      onBus: new Map(),
    }
    this.#subscribers.add(subscriber)
    this.#followOnBus(subscriber, [userId, ...organizationIds])
    return next => {
      if (!this.#subscribers.has(subscriber)) return
      if (next) subscriber.organizationIds = next
      else this.#subscribers.delete(subscriber)
      this.#followOnBus(subscriber, next ? [userId, ...next] : [])
    }
  }

  /** Makes a subscriber receive changes of other nodes for these organizations and persons, and for no others. */
  #followOnBus(subscriber: Subscriber, ids: readonly string[]): void {
    const bus = this.#bus
    if (!bus) return
    const subjects = new Set(ids.map(id => `live.${id}` as const))
    for (const [subject, unsubscribe] of subscriber.onBus) {
      if (subjects.has(subject)) continue
      unsubscribe()
      subscriber.onBus.delete(subject)
    }
    for (const subject of subjects) {
      if (subscriber.onBus.has(subject)) continue
      const note = (change: LiveChange): void => {
        this.#forgetSummary(change)
        this.#note(subscriber.pending, change)
      }
      subscriber.onBus.set(subject, bus.subscribe(subject, note))
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
    this.#forgetSummary(change)
    if (change.topic === 'log') for (const listener of this.#logListeners) listener()
    if (change.deviceId !== undefined && OF_DEVICE.has(change.topic))
      for (const listener of this.#deviceListeners) listener(change.deviceId)
    for (const subscriber of this.#subscribers) {
      const isConcerned =
        subscriber.organizationIds.has(change.organizationId) || userIds.includes(subscriber.userId)
      if (isConcerned) this.#note(subscriber.pending, change)
    }
    if (!this.#bus) return
    for (const id of [change.organizationId, ...userIds]) {
      const subject = `live.${id}` as const
      const pending = this.#outgoing.get(subject) ?? new Map<string, LiveChange>()
      this.#outgoing.set(subject, pending)
      this.#note(pending, change)
    }
  }

  /** Calls `listener` after each commit of this node that added entries to the log of an organization. Returns a function that ends this. */
  onLog(listener: () => void): () => void {
    this.#logListeners.add(listener)
    return () => this.#logListeners.delete(listener)
  }

  /**
   * Calls `listener` with the id of a device after this node has changed a property, the connection or another value of the device. Returns
   * a function that ends this.
   */
  onDevice(listener: (deviceId: string) => void): () => void {
    this.#deviceListeners.add(listener)
    return () => this.#deviceListeners.delete(listener)
  }

  #forgetSummary({ topic, deviceId }: LiveChange): void {
    if (topic === 'devices' && deviceId !== undefined) this.#summaries.delete(deviceId)
  }

  #note(pending: Map<string, LiveChange>, change: LiveChange): void {
    const { deviceId, ...projectChange } = change
    const isTooMany = deviceId !== undefined && pending.size >= MAX_NAMED_DEVICES
    const notice: LiveChange = isTooMany ? projectChange : change
    pending.set(
      `${notice.topic} ${notice.organizationId} ${notice.projectId ?? ''} ${notice.deviceId ?? ''} ${notice.repositoryId ?? ''}`,
      notice,
    )
    this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS)
  }

  #flush(): void {
    this.#timer = undefined
    for (const [subject, changes] of this.#outgoing)
      for (const change of changes.values()) this.#bus?.publish(subject, change)
    this.#outgoing.clear()
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
    for (const subscriber of this.#subscribers) this.#followOnBus(subscriber, [])
    this.#subscribers.clear()
  }
}
