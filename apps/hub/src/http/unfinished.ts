import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../runtime/log.ts'

/** A connection that has not sent a request yet. */
type Unfinished = { socket: Socket; address: string; peer: string; close: () => void }

/** Maximum number of peer addresses compared to find the one with the most connections. A flood from more addresses needs a firewall. */
const MAX_COMPARED = 1_000
/** Time between two log lines, in milliseconds. */
const LOG_INTERVAL_MS = 60_000

/**
 * Limits the connections that have not sent a request yet, TLS handshakes included, so that they do not use up the file descriptors. Above
 * the limit, the newest connection of the address with the most such connections is closed. A flood from one address therefore displaces
 * only its own connections.
 */
export function boundUnfinished(server: Server, max: number, log: Logger): void {
  const byAddress = new Map<string, Set<Unfinished>>()
  /**
   * The same connections by the peer's address and port. Address and port lead from a request to its connection, because a request refers
   * only to its TLS socket and not to the TCP socket below it.
   */
  const byPeer = new Map<string, Unfinished>()
  let loggedAtMs = Number.NEGATIVE_INFINITY

  function finish(one: Unfinished): void {
    // Removes the listener: device connections live for days, and each listener would keep its entry in memory.
    one.socket.off('close', one.close)
    if (byPeer.get(one.peer) === one) byPeer.delete(one.peer)
    const sockets = byAddress.get(one.address)
    sockets?.delete(one)
    if (sockets?.size === 0) byAddress.delete(one.address)
  }

  function evict(newest: Unfinished): void {
    let most = byAddress.get(newest.address)!
    let compared = 0
    for (const sockets of byAddress.values()) {
      if (sockets.size > most.size) most = sockets
      if (++compared === MAX_COMPARED) break
    }
    const evicted = most.has(newest) ? newest : [...most].at(-1)!
    if (performance.now() - loggedAtMs >= LOG_INTERVAL_MS) {
      loggedAtMs = performance.now()
      log.warn(
        { max, remote: evicted.address, ofAddress: most.size },
        'too many connections without a request',
      )
    }
    finish(evicted)
    evicted.socket.destroy()
  }

  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const one: Unfinished = { socket, address, peer: peerOf(socket), close: () => finish(one) }
    byPeer.set(one.peer, one)
    const sockets = byAddress.get(address)
    if (sockets) sockets.add(one)
    else byAddress.set(address, new Set([one]))
    socket.once('close', one.close)
    if (byPeer.size > max) evict(one)
  })
  const onRequest = ({ socket }: { socket: Socket }): void => {
    const one = byPeer.get(peerOf(socket))
    if (one) finish(one)
  }
  server.prependListener('request', onRequest)
  server.prependListener('upgrade', onRequest)
}

/** Address and port of the peer. Reads no other address of the socket, because the socket keeps in memory each address that was read. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
