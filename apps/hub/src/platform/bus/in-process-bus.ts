import type { Logger } from '../runtime/log.ts'
import type { Bus, BusStatus } from './bus.ts'
import { type BusMessage, type BusSubject, batchTexts, messageText } from './messages.ts'
import { Subscriptions } from './subscriptions.ts'

type InProcessBusOptions = {
  nodeId: string
  log: Logger
  /** Buses of all nodes in this process. A hub with the embedded database is the only node. */
  nodes?: Set<InProcessBus>
}

/** Bus between nodes of one process. It has no sockets and is always connected. */
export class InProcessBus implements Bus {
  readonly kind = 'in process'
  readonly status: BusStatus = { isConnected: true }
  readonly #nodeId: string
  readonly #nodes: Set<InProcessBus>
  readonly #subscriptions: Subscriptions

  constructor({ nodeId, log, nodes = new Set() }: InProcessBusOptions) {
    this.#nodeId = nodeId
    this.#nodes = nodes
    this.#subscriptions = new Subscriptions(nodeId, log)
    nodes.add(this)
  }

  publish<S extends BusSubject>(subject: S, message: BusMessage<S>): void {
    const [batch] = batchTexts(this.#nodeId, [messageText(subject, message)])
    for (const node of this.#nodes) if (node !== this) node.#subscriptions.receive(subject, batch!)
  }

  subscribe<S extends BusSubject>(subject: S, handler: (message: BusMessage<S>) => void): () => void {
    return this.#subscriptions.add(subject, handler)
  }

  async subscribed(): Promise<void> {}

  onStatus(): void {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#nodes.delete(this)
  }
}
