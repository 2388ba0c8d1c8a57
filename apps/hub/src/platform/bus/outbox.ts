import { type BusMessage, batchTexts } from './messages.ts'

/** Largest total of waiting messages in bytes. Beyond it, the older half of the messages is dropped. */
const MAX_WAITING_BYTES = 1024 * 1024
/** Largest total of messages that are sent together, in bytes. */
const MAX_SENT_BYTES = 256 * 1024

/** JSON text of messages with the same subject, ready to be sent. */
export type OutgoingBatch = { subject: string; text: string }

/**
 * Bounded queue of messages that wait to be sent. After messages of this node were lost, the next batch is a message on `losses`, because
 * the other nodes cannot notice the loss themselves.
 */
export class Outbox {
  readonly #nodeId: string
  #waiting: OutgoingBatch[] = []
  #waitingBytes = 0
  #droppedCount = 0
  #hasLost = false

  constructor(nodeId: string) {
    this.#nodeId = nodeId
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && !this.#hasLost
  }

  /** Notes that messages were lost outside of this queue. */
  noteLoss(): void {
    this.#hasLost = true
  }

  add(subject: string, text: string): void {
    this.#waiting.push({ subject, text })
    this.#waitingBytes += sizeOf({ subject, text })
    if (this.#waitingBytes <= MAX_WAITING_BYTES) return
    // Drops half of the messages together, because removing single messages would move the whole array each time.
    const dropped = this.#waiting.splice(0, Math.ceil(this.#waiting.length / 2))
    this.#droppedCount += dropped.length
    this.#hasLost = true
    this.#waitingBytes -= dropped.reduce((sum, one) => sum + sizeOf(one), 0)
  }

  /** Removes the oldest messages and returns them as batches. Keeps the order of the messages with the same subject. */
  take(): OutgoingBatch[] {
    const bySubject = new Map<string, string[]>()
    if (this.#hasLost) {
      const message: BusMessage<'losses'> = { nodeId: this.#nodeId }
      bySubject.set('losses', [JSON.stringify(message)])
      this.#hasLost = false
    }
    let taken = 0
    let sentBytes = 0
    for (const one of this.#waiting) {
      sentBytes += sizeOf(one)
      if (taken > 0 && sentBytes > MAX_SENT_BYTES) break
      const texts = bySubject.get(one.subject)
      if (texts) texts.push(one.text)
      else bySubject.set(one.subject, [one.text])
      this.#waitingBytes -= sizeOf(one)
      taken++
    }
    this.#waiting = this.#waiting.slice(taken)
    return [...bySubject].flatMap(([subject, texts]) =>
      batchTexts(this.#nodeId, texts).map(text => ({ subject, text })),
    )
  }

  /** Number of messages dropped since the last call. */
  takeDroppedCount(): number {
    const count = this.#droppedCount
    this.#droppedCount = 0
    return count
  }
}

function sizeOf({ subject, text }: OutgoingBatch): number {
  // Messages contain only ids and fixed words, so a character is a byte.
  return subject.length + text.length
}
