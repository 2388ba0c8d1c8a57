import { waitUpTo } from '@muster/concurrency'
import type { Logger } from '../runtime/log.ts'
import type { Bus, BusStatus } from './bus.ts'
import type { Carrier } from './carriers.ts'
import { type BusMessage, type BusSubject, messageText } from './messages.ts'
import { Outbox, type OutgoingBatch } from './outbox.ts'
import { Subscriptions } from './subscriptions.ts'

/** Deadline for each answer of the server, in milliseconds. A server that does not answer is treated as lost. */
const ANSWER_TIMEOUT_MS = 4_000
/** Interval of pings to the server, in milliseconds. Together with the deadline, a hung connection is noticed within 6 s. */
const PING_MS = 2_000
/** Wait before the first attempt to reconnect, in milliseconds. It doubles up to `MAX_BACKOFF_MS`. */
const BACKOFF_MS = 250
const MAX_BACKOFF_MS = 5_000

const NOT_YET = 'not connected yet'

/** A connection to the server that carries the messages. Each method rejects if the server reports an error. */
export type BusConnection = {
  listen(subjects: readonly string[]): Promise<void>
  unlisten(subjects: readonly string[]): Promise<void>
  send(batches: readonly OutgoingBatch[]): Promise<void>
  ping(): Promise<void>
}

/**
 * Opens a connection. `received` is called with each text that arrives, and `lost` when the connection has ended. When `signal` aborts,
 * even during the connect, the connection is closed without waiting for the server.
 */
export type Connect = (events: {
  received: (subject: string, text: string) => void
  lost: (reason: string) => void
  signal: AbortSignal
}) => Promise<BusConnection>

type RemoteBusOptions = {
  kind: Carrier
  nodeId: string
  log: Logger
  connect: Connect
  /** Minimum time between the starts of two batches, in milliseconds. */
  intervalMs: number
}

/**
 * Bus over an external server. After `start` it keeps one connection open, and reconnects when the connection breaks or the server stops
 * answering. Publishers never wait for the bus. Until `start` is called, messages are lost, and the status is `isConnected: true`,
 * because a node without other nodes needs no bus.
 */
export class RemoteBus implements Bus {
  readonly kind: Carrier
  readonly #log: Logger
  readonly #options: RemoteBusOptions
  readonly #subscriptions: Subscriptions
  readonly #outbox: Outbox
  readonly #listeners = new Set<(status: BusStatus) => void>()
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined
  readonly #firstAttempt = Promise.withResolvers<void>()
  #status: BusStatus = { isConnected: true }
  #connection: BusConnection | undefined
  #lose: (reason: string) => void = () => {}
  /** Subjects to which this connection is subscribed at the server. */
  #listening = new Set<string>()
  #isListeningSoon = false
  /** Resolves when the server has the last change of `#listening`, or when the connection was given up. */
  #subscribed: Promise<void> = Promise.resolve()
  #isSending = false
  #sentAtMs = Number.NEGATIVE_INFINITY

  constructor(options: RemoteBusOptions) {
    this.kind = options.kind
    this.#options = options
    this.#log = options.log
    this.#subscriptions = new Subscriptions(options.nodeId, options.log)
    this.#outbox = new Outbox(options.nodeId)
  }

  /** Begins to connect. Resolves when the first attempt has succeeded or failed. */
  start(): Promise<void> {
    if (!this.#running) {
      this.#status = { isConnected: false, since: new Date(), reason: NOT_YET }
      this.#running = this.#run()
    }
    return this.#firstAttempt.promise
  }

  get status(): BusStatus {
    return this.#status
  }

  publish<S extends BusSubject>(subject: S, message: BusMessage<S>): void {
    const text = messageText(subject, message)
    if (this.#running) this.#outbox.add(subject, text)
    else this.#outbox.noteLoss()
    void this.#send()
  }

  subscribe<S extends BusSubject>(subject: S, handler: (message: BusMessage<S>) => void): () => void {
    return this.#subscriptions.add(subject, handler, () => this.#listenSoon())
  }

  async subscribed(): Promise<void> {
    await this.#subscribed
  }

  onStatus(listener: (status: BusStatus) => void): void {
    this.#listeners.add(listener)
  }

  /** Sends the waiting messages if the bus is connected, and closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sendRest()
    this.#listeners.clear()
    this.#closing.abort()
    this.#lose('closed')
    await this.#running
  }

  /** Keeps the bus connected until disposal. */
  async #run(): Promise<void> {
    const { signal } = this.#closing
    for (let backoffMs = BACKOFF_MS; !signal.aborted; ) {
      const { promise: lost, resolve: lose } = Promise.withResolvers<string>()
      this.#lose = lose
      const closing = new AbortController()
      const reason = await this.#connectOnce(lost, closing.signal).catch(
        (error: Error) => error.message || error.name,
      )
      closing.abort()
      if (this.#connection) backoffMs = BACKOFF_MS
      this.#connection = undefined
      this.#listening.clear()
      this.#firstAttempt.resolve()
      if (signal.aborted) return
      this.#away(reason)
      await this.#pause(backoffMs * (0.5 + Math.random()))
      backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS)
    }
  }

  /** Connects. Resolves when the connection is lost, to the reason. Rejects if the connection cannot be opened. */
  async #connectOnce(lost: Promise<string>, signal: AbortSignal): Promise<string> {
    const opening = this.#options.connect({
      received: (subject, text) => this.#subscriptions.receive(subject, text),
      lost: this.#lose,
      signal,
    })
    const connection = await Promise.race([inTime(opening), lost])
    if (typeof connection === 'string') return connection
    const { subjects } = this.#subscriptions
    this.#listening = new Set(subjects)
    await inTime(connection.listen(subjects))
    this.#connection = connection
    this.#back()
    const pings = setInterval(() => void this.#withDeadline(one => one.ping()), PING_MS)
    return lost.finally(() => clearInterval(pings))
  }

  #back(): void {
    this.#status = { isConnected: true }
    this.#notify()
    this.#firstAttempt.resolve()
    const droppedCount = this.#outbox.takeDroppedCount()
    this.#log.info({ bus: this.kind, droppedCount }, 'the bus between nodes is connected')
    this.#listenSoon()
    void this.#send()
  }

  #away(reason: string): void {
    const isNew = this.#status.isConnected || this.#status.reason === NOT_YET
    const since = this.#status.isConnected ? new Date() : this.#status.since
    this.#status = { isConnected: false, since, reason }
    // Logs only the first failure. Further failed attempts only change the reason in the status.
    if (!isNew) return
    this.#log.warn(
      { bus: this.kind, reason },
      'the bus between nodes is away; changes made on other nodes arrive by polling',
    )
    this.#notify()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener(this.#status)
  }

  /** Runs work on the connection. If it fails or misses the deadline, calls `failed` and gives the connection up. */
  async #withDeadline(
    work: (connection: BusConnection) => Promise<void>,
    failed: () => void = () => {},
  ): Promise<void> {
    const connection = this.#connection
    const lose = this.#lose
    if (!connection) return
    await inTime(work(connection)).catch((error: Error) => {
      failed()
      lose(error.message || error.name)
    })
  }

  /** Updates the subjects at the server to the current subscriptions, after this event-loop turn. */
  #listenSoon(): void {
    if (this.#isListeningSoon || !this.#connection) return
    this.#isListeningSoon = true
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#subscribed = Promise.all([this.#subscribed, promise]).then(() => undefined)
    setImmediate(() => {
      this.#isListeningSoon = false
      const wanted = new Set(this.#subscriptions.subjects)
      const added = [...wanted].filter(subject => !this.#listening.has(subject))
      const removed = [...this.#listening].filter(subject => !wanted.has(subject))
      this.#listening = wanted
      if (added.length > 0) resolve(this.#withDeadline(connection => connection.listen(added)))
      else resolve(undefined)
      if (removed.length > 0) void this.#withDeadline(connection => connection.unlisten(removed))
    })
  }

  /** Sends the waiting messages in batches, one after another. A batch that fails is lost, and the other nodes are notified of it. */
  async #send(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    try {
      while (this.#connection && !this.#outbox.isEmpty) {
        const waitMs = Math.max(0, this.#sentAtMs + this.#options.intervalMs - performance.now())
        // Waits even for 0 ms, so that messages of the same event-loop turn are sent in one batch.
        await this.#pause(waitMs)
        if (!this.#connection) return
        this.#sentAtMs = performance.now()
        const batches = this.#outbox.take()
        if (batches.length > 0)
          await this.#withDeadline(
            connection => connection.send(batches),
            () => this.#outbox.noteLoss(),
          )
      }
    } finally {
      this.#isSending = false
    }
  }

  /** Waits for `ms`, or until the bus is disposed of. */
  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    const stop = (): void => resolve()
    this.#closing.signal.addEventListener('abort', stop)
    await promise
    clearTimeout(timer)
    this.#closing.signal.removeEventListener('abort', stop)
  }

  async #sendRest(): Promise<void> {
    if (!this.#connection || this.#outbox.isEmpty) return
    await waitUpTo(
      ANSWER_TIMEOUT_MS,
      this.#withDeadline(connection => connection.send(this.#outbox.take())),
    )
  }
}

/** Rejects if the work takes longer than `ANSWER_TIMEOUT_MS`. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    // When this process was suspended, the timer fires late. `setImmediate` lets an answer that has already arrived be read first.
    timer = setTimeout(
      () => setImmediate(() => reject(new Error(`no answer for ${ANSWER_TIMEOUT_MS} ms`))),
      ANSWER_TIMEOUT_MS,
    )
  })
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer))
}
