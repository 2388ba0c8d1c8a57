import type { Logger } from '../runtime/log.ts'
import { type BusMessage, type BusSubject, parseBatch, parseMessage } from './messages.ts'

/** Minimum time between two log lines about ignored messages, in milliseconds. */
const LOG_INTERVAL_MS = 60_000

type Handler = (message: never) => void

/** The subscriptions of one node. Validates received messages and passes valid ones to the handlers. */
export class Subscriptions {
  readonly #nodeId: string
  readonly #log: Logger
  readonly #handlers = new Map<string, Set<Handler>>()
  #ignored = 0
  #loggedAtMs = Number.NEGATIVE_INFINITY

  constructor(nodeId: string, log: Logger) {
    this.#nodeId = nodeId
    this.#log = log
  }

  /** Subjects with at least one handler. */
  get subjects(): string[] {
    return [...this.#handlers.keys()]
  }

  /** Adds a handler. `onChange` is called when the set of subjects changes. Returns a function that removes the handler. */
  add<S extends BusSubject>(
    subject: S,
    handler: (message: BusMessage<S>) => void,
    onChange: () => void = () => {},
  ): () => void {
    const handlers = this.#handlers.get(subject) ?? new Set<Handler>()
    // Wraps the handler, so that a handler that is added twice has two entries in the set.
    const added: Handler = message => handler(message)
    handlers.add(added)
    if (handlers.size === 1) {
      this.#handlers.set(subject, handlers)
      onChange()
    }
    return () => {
      if (!handlers.delete(added) || handlers.size > 0) return
      this.#handlers.delete(subject)
      onChange()
    }
  }

  /** Passes the messages of a batch to the handlers of its subject. An invalid batch or message is logged and has no effect. */
  receive(subject: string, text: string): void {
    const handlers = this.#handlers.get(subject)
    if (!handlers) return
    try {
      const { from, messages } = parseBatch(text)
      if (from === this.#nodeId) return
      for (const message of messages) this.#pass(subject, message, handlers)
    } catch (error) {
      this.#ignore(subject, error)
    }
  }

  #pass(subject: string, message: unknown, handlers: Set<Handler>): void {
    try {
      const valid = parseMessage(subject as BusSubject, message)
      for (const handler of [...handlers]) handler(valid as never)
    } catch (error) {
      this.#ignore(subject, error)
    }
  }

  /** Logs an ignored message, at most once a minute, with the number of messages ignored since the last line. */
  #ignore(subject: string, error: unknown): void {
    this.#ignored++
    if (performance.now() - this.#loggedAtMs < LOG_INTERVAL_MS) return
    const problem = String((error as Error).message)
      .replace(/\s+/g, ' ')
      .slice(0, 300)
    this.#log.warn({ subject, problem, count: this.#ignored }, 'messages from other nodes were ignored')
    this.#ignored = 0
    this.#loggedAtMs = performance.now()
  }
}
