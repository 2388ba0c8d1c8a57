import type { Socket } from 'node:net'

/**
 * Delay of a response to a client IP with too many refused connections, in milliseconds. A client that reconnects after each refusal
 * then gets at most one response per second and connection.
 */
const HOLD_MS = 1_000
/**
 * Maximum number of delayed responses. Further responses are sent without a delay, so that waiting sockets use few of the file descriptors
 * that devices need.
 */
const MAX_HELD = 500

/**
 * Delays refusals to a client IP that was refused more often than its rate limit allows. A client that waits for each response
 * before it retries is slowed down, so that refusing it costs little.
 */
export class HeldAnswers implements Disposable {
  readonly #held = new Map<Socket, { timer: NodeJS.Timeout; answer: () => void }>()

  /** Calls `answer` after the delay, or immediately when `MAX_HELD` responses wait. Does not call it when the socket closes first. */
  hold(socket: Socket, answer: () => void): void {
    if (this.#held.size >= MAX_HELD) {
      answer()
      return
    }
    const timer = setTimeout(() => this.#end(socket)?.(), HOLD_MS)
    this.#held.set(socket, { timer, answer })
    socket.once('close', () => this.#end(socket))
  }

  /** Sends the delayed responses immediately. */
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
