import type { Socket } from 'node:net'
import type { Link, Transport } from '@muster/link'
import type { WebSocket } from 'ws'

/** How long a peer may take to answer the closing handshake, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000

/**
 * A WebSocket as the transport of a link. What is sent in one turn of the event loop leaves in one write, which is what makes
 * many small acknowledgements cheap.
 */
export function webSocketTransport(webSocket: WebSocket, socket: Socket): Transport {
  let isCorked = false
  const uncork = (): void => {
    isCorked = false
    socket.uncork()
  }
  return {
    send(message) {
      if (webSocket.readyState !== webSocket.OPEN) return
      if (!isCorked) {
        isCorked = true
        socket.cork()
        setImmediate(uncork)
      }
      webSocket.send(message, { binary: true })
    },
    get bufferedBytes() {
      return webSocket.bufferedAmount
    },
    close(abort) {
      if (abort) return webSocket.terminate()
      webSocket.close(1000)
      setTimeout(() => webSocket.terminate(), CLOSE_TIMEOUT_MS).unref()
    },
  }
}

/** Feeds what a WebSocket receives to a link. No listener throws. */
export function driveLink(link: Link, webSocket: WebSocket, socket: Socket): void {
  webSocket.on('message', (data, isBinary) => {
    if (isBinary) link.receive(data as Buffer)
    else link.receiveText()
  })
  webSocket.on('error', error => link.transportClosed(error.message))
  webSocket.on('close', code => link.transportClosed(`WebSocket closed with ${code}`))
  socket.on('drain', () => link.drained())
}
