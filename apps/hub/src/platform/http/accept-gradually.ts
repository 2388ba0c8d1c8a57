import type { Server, Socket } from 'node:net'

/** Number of new connections accepted per event-loop turn. Four TLS handshakes take a few milliseconds. */
const ACCEPTED_PER_TURN = 4

/**
 * Accepts the connections of a server a few at a time, in order of arrival. A TLS handshake blocks the event loop for one or
 * two signatures. If a whole fleet reconnects at the same time, handling every connection in one event-loop turn would delay all other
 * requests, which need several event-loop turns each. Spreading the handshakes costs the fleet nothing, because the total work
 * does not change.
 */
export function acceptGradually(server: Server): void {
  const acceptListeners = server.listeners('connection')
  server.removeAllListeners('connection')
  const waiting: Socket[] = []
  const acceptSome = (): void => {
    for (const socket of waiting.splice(0, ACCEPTED_PER_TURN)) {
      socket.off('error', ignore)
      if (!socket.destroyed) for (const listener of acceptListeners) listener.call(server, socket)
    }
    if (waiting.length > 0) setImmediate(acceptSome)
  }
  server.on('connection', (socket: Socket) => {
    // Without this listener, a client that resets its connection while it waits would crash the process.
    socket.on('error', ignore)
    if (waiting.push(socket) === 1) setImmediate(acceptSome)
  })
}

function ignore(): void {}
