import type { Bus, BusStatus } from './bus.ts'
import type { BusMessage, BusSubject } from './messages.ts'

/**
 * Bus over several carriers, used while an instance changes its carrier node by node. Each message is sent over all of them, so that nodes
 * with only one of them receive it. A node with both receives it twice, which costs at most a repeated query.
 */
export class CombinedBus implements Bus {
  readonly kind = 'PostgreSQL and NATS'
  readonly #buses: readonly Bus[]
  readonly #listeners = new Set<(status: BusStatus) => void>()

  /** Takes over the buses: disposal closes them. */
  constructor(buses: readonly Bus[]) {
    this.#buses = buses
    for (const bus of buses)
      bus.onStatus(() => {
        const { status } = this
        for (const listener of this.#listeners) listener(status)
      })
  }

  /** Connected if all carriers are, because each of them may be the only one that some other node uses. */
  get status(): BusStatus {
    const away = this.#buses.flatMap(({ kind, status }) => (status.isConnected ? [] : [{ kind, ...status }]))
    if (away.length === 0) return { isConnected: true }
    return {
      isConnected: false,
      since: away.map(({ since }) => since).reduce((first, since) => (since < first ? since : first)),
      reason: away.map(({ kind, reason }) => `${kind}: ${reason}`).join('; '),
    }
  }

  publish<S extends BusSubject>(subject: S, message: BusMessage<S>): void {
    for (const bus of this.#buses) bus.publish(subject, message)
  }

  subscribe<S extends BusSubject>(subject: S, handler: (message: BusMessage<S>) => void): () => void {
    const unsubscribers = this.#buses.map(bus => bus.subscribe(subject, handler))
    return () => {
      for (const unsubscribe of unsubscribers) unsubscribe()
    }
  }

  async subscribed(): Promise<void> {
    await Promise.all(this.#buses.map(bus => bus.subscribed()))
  }

  onStatus(listener: (status: BusStatus) => void): void {
    this.#listeners.add(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear()
    await Promise.all(this.#buses.map(bus => bus[Symbol.asyncDispose]()))
  }
}
