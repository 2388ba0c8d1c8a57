import type { Server, Socket } from 'node:net'

/** Connections that begin in one turn of the event loop: with TLS, a few milliseconds of it. */
const BEGUN_PER_TURN = 4

/**
 * Lets the connections of a server begin a few at a time, in order of arrival. A TLS handshake costs the event loop a signature or
 * two, any other connection a fraction of a millisecond; a fleet that comes back at once would fill every turn with as many as it
 * has connections, and whatever else is asked needs several turns (goal P6). The fleet loses nothing by it: one after the other
 * takes as long as all at once.
 */
export function beginInTurns(server: Server): void {
  const begin = server.listeners('connection')
  server.removeAllListeners('connection')
  const waiting: Socket[] = []
  const takeTurn = (): void => {
    for (const socket of waiting.splice(0, BEGUN_PER_TURN)) {
      socket.off('error', ignore)
      if (!socket.destroyed) for (const listener of begin) listener.call(server, socket)
    }
    if (waiting.length > 0) setImmediate(takeTurn)
  }
  server.on('connection', (socket: Socket) => {
    // Who goes away before their turn is no fault.
    socket.on('error', ignore)
    if (waiting.push(socket) === 1) setImmediate(takeTurn)
  })
}

function ignore(): void {}
