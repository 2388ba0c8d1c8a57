import type { BusMessage, BusSubject } from './messages.ts'

/** Whether messages reach the other nodes. `reason` is for logs and administrators. */
export type BusStatus = { isConnected: true } | { isConnected: false; since: Date; reason: string }

/**
 * Sends small messages to the other nodes of the cluster. A message only names ids: its receiver checks the database before it acts, so
 * a forged or repeated message costs at most a query. Messages may be lost, so every receiver also polls. Messages of one publisher
 * with the same subject arrive in order.
 */
export type Bus = AsyncDisposable & {
  /** Transport of the messages. */
  readonly kind: 'in process' | 'PostgreSQL' | 'NATS' | 'PostgreSQL and NATS'
  readonly status: BusStatus
  /**
   * Sends a message to all other nodes that subscribe to the subject. Subscribers of this node do not get it, because this node acts on
   * its own changes directly. Never waits: while the bus is disconnected, messages are kept in a bounded buffer, and the oldest are
   * dropped when it is full. Throws `BusMessageTooLarge`.
   */
  publish<S extends BusSubject>(subject: S, message: BusMessage<S>): void
  /** Calls `handler` with valid messages of a subject. Returns a function that unsubscribes. */
  subscribe<S extends BusSubject>(subject: S, handler: (message: BusMessage<S>) => void): () => void
  /** Resolves when the bus server (PostgreSQL, NATS) has all subscriptions made so far; immediately while disconnected. Never rejects. */
  subscribed(): Promise<void>
  /** Calls `listener` when the status changes. Messages may have been lost before the status becomes `isConnected: true`. */
  onStatus(listener: (status: BusStatus) => void): void
}
