import type { LiveChange } from '@muster/actions'

type Subscriber = {
  userId: string
  organizationIds: ReadonlySet<string>
  pending: Map<string, LiveChange>
  deliver: (changes: LiveChange[]) => void
}

/** How long notices are gathered before they go out together, in milliseconds: a device shows within a second. */
const GATHER_MS = 200
/** More changes of single devices than this at once are told as one change of their project. */
const MAX_NAMED_DEVICES = 200

/** Devices whose last report is remembered: more than connect to one node. */
const MAX_SUMMARIES = 50_000

/** Tells open consoles that something changed. Gathers what happens at once; idle subscribers cost no timer. */
export class LiveHub {
  readonly #subscribers = new Set<Subscriber>()
  /** What devices reported last, by device id, oldest first. */
  readonly #summaries = new Map<string, Readonly<Record<string, string>>>()
  #timer: NodeJS.Timeout | undefined

  get subscriberCount(): number {
    return this.#subscribers.size
  }

  /** Subscribes a person to the changes of some organizations; the returned function replaces them, `undefined` ends it. */
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
   * Notes that a device reported a column of its row in lists. Reports of the value that was reported last are no change; any other
   * notice about the device makes the next report one, since the value may have been overwritten.
   */
  reported(change: LiveChange & { deviceId: string }, column: string, value: string): void {
    const { deviceId } = change
    const summary = this.#summaries.get(deviceId)
    if (summary?.[column] === value) return
    this.changed(change)
    this.#summaries.set(deviceId, { ...summary, [column]: value })
    if (this.#summaries.size > MAX_SUMMARIES) this.#summaries.delete(this.#summaries.keys().next().value!)
  }

  /** Notes a change for everybody who may see its organization, and for people who are about to. */
  changed(change: LiveChange, userIds: readonly string[] = []): void {
    if (change.topic === 'devices' && change.deviceId !== undefined) this.#summaries.delete(change.deviceId)
    for (const subscriber of this.#subscribers) {
      const isConcerned =
        subscriber.organizationIds.has(change.organizationId) || userIds.includes(subscriber.userId)
      if (!isConcerned) continue
      const { deviceId, ...ofProject } = change
      const isTooMany = deviceId !== undefined && subscriber.pending.size >= MAX_NAMED_DEVICES
      const told: LiveChange = isTooMany ? ofProject : change
      subscriber.pending.set(
        `${told.topic} ${told.organizationId} ${told.projectId ?? ''} ${told.deviceId ?? ''} ${told.repositoryId ?? ''}`,
        told,
      )
      this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS)
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

  close(): void {
    clearTimeout(this.#timer)
    this.#subscribers.clear()
  }
}
