import { emptyBytes } from '../bytes.ts'
import { encodeFrame, MAGIC, TAG } from '../frames.ts'
import { Link } from '../link.ts'
import type { LinkOptions } from '../link-options.ts'
import type { Transport } from '../transport.ts'

/** Message in the place of a probe (`Transport.probe`). The other end answers it on delivery. */
export const PROBE = new Uint8Array(0)

/** One direction of an in-memory connection. Sent messages are queued until they are delivered. */
export class MemoryTransport implements Transport {
  /** Messages sent and not delivered yet. */
  readonly pending: Uint8Array[] = []
  /** Whether the transport was closed gracefully or aborted; undefined while it is open. */
  closed: 'Graceful' | 'Abort' | undefined = undefined
  /** WebSocket close code with which the transport was closed. */
  closeCode: number | undefined = undefined
  /** Removes the info of the Hello, as public peers send it. Set this before the link is created. */
  isMarkHidden = false
  /** Called after each send, to schedule delivery. If undefined, the test calls deliver(). */
  onSend: (() => void) | undefined = undefined
  #bufferedBytes = 0
  #own: Link | undefined
  #peer: Link | undefined

  get bufferedBytes(): number {
    return this.#bufferedBytes
  }

  send(message: Uint8Array): void {
    if (this.closed !== undefined) return
    const sent = this.isMarkHidden ? withoutMark(message) : message
    this.pending.push(sent)
    this.#bufferedBytes += sent.length
    this.onSend?.()
  }

  probe(): void {
    this.send(PROBE)
  }

  close(abort = false, code = 1000): void {
    if (this.closed !== undefined) return
    this.closeCode = code
    this.closed = abort ? 'Abort' : 'Graceful'
    if (abort) this.take(this.pending.length)
    this.onSend?.()
  }

  /** Sets `own`, the link that sends on this transport, and `peer`, the link that receives the messages. */
  connect(own: Link, peer: Link): void {
    this.#own = own
    this.#peer = peer
  }

  /** Removes messages without delivering them, like a transport that wrote them to a socket. */
  take(count = this.pending.length): Uint8Array[] {
    const taken = this.pending.splice(0, count)
    for (const message of taken) this.#bufferedBytes -= message.length
    return taken
  }

  /**
   * Delivers up to `count` messages in order, and the close of the transport once no message is left. Returns true if it
   * delivered anything.
   */
  deliver(count = this.pending.length): boolean {
    const messages = this.take(count)
    for (const message of messages) {
      if (message === PROBE) this.#own?.probed()
      else this.#peer?.receive(message)
    }
    if (messages.length > 0) this.#own?.drained()
    if (this.closed === undefined || this.pending.length > 0 || this.#peer === undefined)
      return messages.length > 0
    const peer = this.#peer
    this.#peer = undefined
    peer.transportClosed(this.closed === 'Abort' ? 'aborted' : '')
    this.#own?.transportClosed()
    return true
  }
}

/** The transports of both ends, and the wiring to their links. */
export interface MemoryTransportPair {
  readonly a: MemoryTransport
  readonly b: MemoryTransport
  /** Sets the links. `a` is the link that was created with the transport `a`. */
  connect(a: Link, b: Link): void
  /** Delivers in both directions until no message is left. */
  flush(): void
}

/**
 * An in-memory connection for two links. By default messages are delivered automatically in later turns of the event
 * loop. With `isManual` the test calls flush() or deliver().
 */
export function inMemoryTransportPair(options: { readonly isManual?: boolean } = {}): MemoryTransportPair {
  const a = new MemoryTransport()
  const b = new MemoryTransport()
  const flush = (): void => {
    while (a.deliver() || b.deliver()) {
      // The body is empty: the condition delivers, and each delivery may cause further messages.
    }
  }
  if (!options.isManual) {
    let isScheduled = false
    const schedule = (): void => {
      if (isScheduled) return
      isScheduled = true
      setImmediate(() => {
        isScheduled = false
        a.deliver()
        b.deliver()
        if (a.pending.length > 0 || b.pending.length > 0) schedule()
      })
    }
    a.onSend = schedule
    b.onSend = schedule
  }
  return {
    a,
    b,
    connect(linkA, linkB) {
      a.connect(linkA, linkB)
      b.connect(linkB, linkA)
    },
    flush,
  }
}

/** Two links connected in memory. */
export interface LinkPair {
  readonly a: Link
  readonly b: Link
  readonly transports: MemoryTransportPair
}

/** Makes two links on an in-memory connection; see inMemoryTransportPair(). */
export function connectedLinks(
  options: { readonly a?: LinkOptions; readonly b?: LinkOptions; readonly isManual?: boolean } = {},
): LinkPair {
  const transports = inMemoryTransportPair({ isManual: options.isManual ?? false })
  const a = new Link(transports.a, options.a)
  const b = new Link(transports.b, options.b)
  transports.connect(a, b)
  if (options.isManual) transports.flush()
  return { a, b, transports }
}

/** Replaces the Hello of our link by the Hello of a public peer, which has no info. Returns all other messages unchanged. */
export function withoutMark(message: Uint8Array): Uint8Array {
  return message[0] === TAG.hello ? encodeFrame({ type: 'Hello', magic: MAGIC, info: emptyBytes() }) : message
}
