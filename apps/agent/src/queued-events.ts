import { RemoteActionError } from '@muster/link'
import type { DeviceEventText, EventQueue, QueueEntry } from './event-queue.ts'
import type { Log } from './log.ts'
import { publishEvents } from './one-shot.ts'
import type { Session } from './session.ts'

/** Bounds of one call. Calls are small, so that a slow connection does not send much again after it breaks. */
const BATCH = { events: 100, bytes: 256 * 1024 }
/** Number of calls in a round that the hub may answer with `Internal` before the rest waits for the next round. */
const MAX_FAILED_CALLS = 3

/**
 * Sends the events of a queue in rounds. If the hub cannot take a batch at the moment (`Internal`), the round goes on behind it, and the
 * next batches are half as long. Within a few rounds an event that the hub never takes is thus alone in a batch, and is put off: it no
 * longer delays the others.
 */
export class QueueSender {
  readonly #queue: EventQueue
  readonly #log: Log
  #batchEvents = BATCH.events
  /** Ids of events that the hub could not take alone. They are sent last, each in a call of its own. */
  #putOff = new Set<string>()
  #sent = 0

  constructor(queue: EventQueue, log: Log) {
    this.#queue = queue
    this.#log = log
  }

  /**
   * Sends events, oldest first, in up to `maxBatches` batches, and removes those that the hub has stored. Events that the hub refuses as
   * invalid are set aside; events that it cannot take at the moment stay in the queue. Resolves to true if no events are left. Rejects if
   * the hub refuses the device, or if the connection or the queue fails.
   */
  async send(session: Session, maxBatches = Number.POSITIVE_INFINITY): Promise<boolean> {
    try {
      return await this.#sendRound(session, maxBatches)
    } finally {
      if (this.#sent > 0) this.#log.info(`sent ${this.#sent} events from the queue`)
      this.#sent = 0
    }
  }

  async #sendRound(session: Session, maxBatches: number): Promise<boolean> {
    let rest = this.#ordered(await this.#queue.entries())
    let failed = 0
    for (let batches = 0; rest.length > 0; batches++) {
      if (batches === maxBatches || failed === MAX_FAILED_CALLS) return false
      const batch = this.#firstBatch(rest)
      rest = rest.slice(batch.length)
      try {
        await this.#sendBatch(session, batch)
      } catch (error) {
        if (!(error instanceof RemoteActionError && error.shouldRetry())) throw error
        this.#log.debug(`events from ${batch[0]!.eventId} on stay in the queue: ${error.message}`)
        if (error.kind !== 'Internal') return false
        failed++
        this.#shorten(batch)
      }
    }
    if (failed === 0) this.#batchEvents = BATCH.events
    return failed === 0
  }

  /** Sends a batch in one call. If the hub finds it invalid, sends its halves, down to single events. */
  async #sendBatch(session: Session, batch: QueueEntry[]): Promise<void> {
    const events: DeviceEventText[] = []
    for (const entry of batch) {
      const event = await this.#queue.read(entry, file =>
        this.#log.warn(`found a damaged event in the queue; set aside as ${file}`),
      )
      if (event) events.push(event)
    }
    if (events.length === 0) return
    try {
      await publishEvents(session, events)
    } catch (error) {
      // Other kinds, such as `Forbidden`, concern the device and not the event.
      if (!(error instanceof RemoteActionError) || error.kind !== 'Invalid') throw error
      if (batch.length === 1) return this.#setAside(batch[0]!, error)
      const middle = batch.length >> 1
      await this.#sendBatch(session, batch.slice(0, middle))
      return this.#sendBatch(session, batch.slice(middle))
    }
    this.#sent += events.length
    for (const entry of batch) await this.#queue.remove(entry)
  }

  async #setAside(entry: QueueEntry, error: RemoteActionError): Promise<void> {
    const file = await this.#queue.setAside(entry, 'refused')
    this.#log.warn(`the hub refused event ${entry.eventId}: ${error.message}; set aside as ${file}`)
  }

  #shorten(batch: QueueEntry[]): void {
    if (batch.length > 1) {
      this.#batchEvents = batch.length >> 1
      return
    }
    this.#batchEvents = BATCH.events
    const { eventId } = batch[0]!
    // Deleting first moves the event behind the others that were put off, so that each has its turn.
    this.#putOff.delete(eventId)
    this.#putOff.add(eventId)
  }

  /** Moves the events that were put off behind the others, and forgets those that have left the queue. */
  #ordered(entries: QueueEntry[]): QueueEntry[] {
    const byId = new Map(entries.map(entry => [entry.eventId, entry]))
    const last = [...this.#putOff].flatMap(eventId => byId.get(eventId) ?? [])
    this.#putOff = new Set(last.map(entry => entry.eventId))
    return [...entries.filter(({ eventId }) => !this.#putOff.has(eventId)), ...last]
  }

  #firstBatch(entries: QueueEntry[]): QueueEntry[] {
    let bytes = 0
    const past = entries.findIndex(({ sizeBytes, eventId }, at) => {
      bytes += sizeBytes
      return at > 0 && (at >= this.#batchEvents || bytes > BATCH.bytes || this.#putOff.has(eventId))
    })
    return past < 0 ? entries : entries.slice(0, past)
  }
}
