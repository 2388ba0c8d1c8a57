import type { Socket } from 'node:net'

/**
 * Delay of an answer to a client IP with too many refused connections, in milliseconds. A client that reconnects after each refusal
 * then gets at most one answer per second and connection.
 */
const HOLD_MS = 1_000
/**
 * Maximum number of delayed answers. Further answers are sent at once, so that waiting sockets hold few of the file descriptors that
 * devices need.
 */
const MAX_HELD = 500

/**
 * Delays refusals to a client IP that was refused more often than its rate limit allows. A client that waits for each answer
 * before it retries is slowed down, so that refusing it costs little.
 */
export class HeldAnswers implements Disposable {
  readonly #held = new Map<Socket, { timer: NodeJS.Timeout; answer: () => void }>()

  /** Calls `answer` after the delay, or at once when `MAX_HELD` answers wait. Does not call it when the socket closes first. */
  hold(socket: Socket, answer: () => void): void {
    if (this.#held.size >= MAX_HELD) {
      answer()
      return
    }
    const timer = setTimeout(() => this.#end(socket)?.(), HOLD_MS)
    this.#held.set(socket, { timer, answer })
    socket.once('close', () => this.#end(socket))
  }

  /** Sends the delayed answers at once. */
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
