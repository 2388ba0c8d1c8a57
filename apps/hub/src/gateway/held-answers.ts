import type { Socket } from 'node:net'

/** Time for which the answer to a flooding address is held back, in milliseconds: 16 clients in a loop get 16 answers a second. */
const HOLD_MS = 1_000
/** Answers held back at once; further ones leave immediately, so that held sockets stay few beside those of devices. */
const MAX_HELD = 500

/**
 * Holds back answers to an address whose connections are refused faster than the hub logs them. A client that waits for its answer
 * before it tries again is slowed down, and refusing it leaves the hub to others.
 */
export class HeldAnswers implements Disposable {
  readonly #held = new Map<Socket, { timer: NodeJS.Timeout; answer: () => void }>()

  /** Calls `answer` after the hold, at once when too many are held, never when the socket closes first. */
  hold(socket: Socket, answer: () => void): void {
    if (this.#held.size >= MAX_HELD) {
      answer()
      return
    }
    const timer = setTimeout(() => this.#end(socket)?.(), HOLD_MS)
    this.#held.set(socket, { timer, answer })
    socket.once('close', () => this.#end(socket))
  }

  /** Sends the answers that are still held. */
  [Symbol.dispose](): void {
    for (const socket of [...this.#held.keys()]) this.#end(socket)?.()
  }

  #end(socket: Socket): (() => void) | undefined {
    const held = this.#held.get(socket)
    clearTimeout(held?.timer)
    this.#held.delete(socket)
    return held?.answer
  }
}
