import { RemoteActionError } from '@muster/link'
import type { DeviceEventText, EventQueue, QueueEntry } from './event-queue.ts'
import type { Log } from './log.ts'
import { publishEvents } from './one-shot.ts'
import type { Session } from './session.ts'

/** Bounds of one call. Calls are small, so that a slow connection does not send much again after it breaks. */
const BATCH = { events: 100, bytes: 256 * 1024 }
/** Number of events that the hub may put off before the rest waits, too. One event alone must not stop all others. */
const MAX_PUT_OFF = 3

/**
 * Sends the events of a queue, oldest first, and removes those that the hub has stored. An event that the hub refuses is set aside.
 * Events that the hub cannot take at the moment stay in the queue. Rejects if the connection or the queue fails.
 */
export async function sendQueuedEvents(session: Session, queue: EventQueue, log: Log): Promise<void> {
  const entries = await queue.entries()
  if (entries.length > 0) await new QueueSender(session, queue, log).send(entries)
}

class QueueSender {
  readonly #session: Session
  readonly #queue: EventQueue
  readonly #log: Log
  #sent = 0
  #putOff = 0

  constructor(session: Session, queue: EventQueue, log: Log) {
    this.#session = session
    this.#queue = queue
    this.#log = log
  }

  async send(entries: QueueEntry[]): Promise<void> {
    for (let rest = entries; rest.length > 0 && this.#putOff < MAX_PUT_OFF; ) {
      const batch = firstBatch(rest)
      rest = rest.slice(batch.length)
      await this.#sendBatch(batch)
    }
    if (this.#sent > 0) this.#log.info(`sent ${this.#sent} events from the queue`)
  }

  /** Sends a batch in one call. If the hub refuses it, sends its halves, down to single events. */
  async #sendBatch(batch: QueueEntry[]): Promise<void> {
    if (this.#putOff >= MAX_PUT_OFF) return
    const events: DeviceEventText[] = []
    for (const entry of batch) {
      const event = await this.#queue.read(entry, file =>
        this.#log.warn(`found a damaged event in the queue; set aside as ${file}`),
      )
      if (event) events.push(event)
    }
    if (events.length === 0) return
    try {
      await publishEvents(this.#session, events)
    } catch (error) {
      if (!(error instanceof RemoteActionError)) throw error
      if (batch.length === 1) return this.#refused(batch[0]!, error)
      const middle = batch.length >> 1
      await this.#sendBatch(batch.slice(0, middle))
      return this.#sendBatch(batch.slice(middle))
    }
    this.#sent += events.length
    for (const entry of batch) await this.#queue.remove(entry)
  }

  async #refused(entry: QueueEntry, error: RemoteActionError): Promise<void> {
    if (error.shouldRetry()) {
      this.#putOff++
      this.#log.debug(`event ${entry.eventId} stays in the queue: ${error.message}`)
      return
    }
    const file = await this.#queue.setAside(entry, 'refused')
    this.#log.warn(`the hub refused event ${entry.eventId}: ${error.message}; set aside as ${file}`)
  }
}

function firstBatch(entries: QueueEntry[]): QueueEntry[] {
  let bytes = 0
  const past = entries.findIndex(({ sizeBytes }, at) => {
    bytes += sizeBytes
    return at >= BATCH.events || (at > 0 && bytes > BATCH.bytes)
  })
  return past < 0 ? entries : entries.slice(0, past)
}
