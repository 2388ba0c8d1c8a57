import type { Duplex } from 'node:stream'

/**
 * Sends a last response on the socket of an upgrade request, if the socket is still writable, and then destroys the socket.
 * Without the destruction, a peer that does not close its side would keep the socket open for ever and block the hub's
 * shutdown.
 */
export function endWithResponse(socket: Duplex, answer: string): void {
  if (!socket.writable) return
  socket.once('finish', () => socket.destroy())
  socket.end(answer)
}
