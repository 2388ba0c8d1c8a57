import type { BusMessage, BusSubject } from './messages.ts'

/** Whether messages reach the other nodes. `reason` is for logs and administrators. */
export type BusStatus = { isConnected: true } | { isConnected: false; since: Date; reason: string }

/**
 * Sends small messages to the other nodes. A message carries ids and no authority: its receiver reads rows by its own rules, so a forged
 * or repeated message costs at most a query. Messages may be lost, so every receiver also polls. The messages of one publisher for one
 * subject arrive in their order.
 */
export type Bus = AsyncDisposable & {
  /** What carries the messages. */
  readonly kind: 'in process' | 'PostgreSQL' | 'NATS'
  readonly status: BusStatus
  /**
   * Sends a message to all other nodes that subscribe to the subject. Subscribers of this node do not get it, because this node acts on
   * its own changes directly. Never waits: while the bus is away, messages are kept in a bounded buffer, and the oldest ones are
   * dropped. Throws `BusMessageTooLarge`.
   */
  publish<S extends BusSubject>(subject: S, message: BusMessage<S>): void
  /** Calls `handler` with valid messages of a subject. Returns a function that unsubscribes. */
  subscribe<S extends BusSubject>(subject: S, handler: (message: BusMessage<S>) => void): () => void
  /** Resolves when the subscriptions made so far are in effect. Resolves at once while the bus is away. Never rejects. */
  subscribed(): Promise<void>
  /** Calls `listener` when the status changes. Messages may have been lost before a status with `isConnected`. */
  onStatus(listener: (status: BusStatus) => void): void
}
