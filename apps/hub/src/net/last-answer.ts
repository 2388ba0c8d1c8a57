import type { Duplex } from 'node:stream'

/**
 * Ends the socket of an upgrade with an answer, if it still takes one. A peer that keeps its half open would hold the socket for
 * ever, and the hub's shutdown with it.
 */
export function endWith(socket: Duplex, answer: string): void {
  if (!socket.writable) return
  socket.once('finish', () => socket.destroy())
  socket.end(answer)
}
