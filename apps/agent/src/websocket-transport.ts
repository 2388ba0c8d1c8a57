import type { Socket } from 'node:net'
import type { Link, Transport } from '@muster/link'
import type { RawData, WebSocket } from 'ws'

/** How long the hub may take to answer the closing handshake. */
const CLOSE_TIMEOUT_MS = 2000

/** A link's way over one open WebSocket. Everything sent within one turn of the event loop leaves in one write. */
export class WebSocketTransport implements Transport {
  readonly #webSocket: WebSocket
  readonly #socket: Socket
  #isCorked = false

  /** Both must be connected; the socket is the one below the WebSocket. */
  constructor(webSocket: WebSocket, socket: Socket) {
    this.#webSocket = webSocket
    this.#socket = socket
  }

  get bufferedBytes(): number {
    return this.#webSocket.bufferedAmount
  }

  send(message: Uint8Array): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return
    if (!this.#isCorked) {
      this.#isCorked = true
      this.#socket.cork()
      setImmediate(() => this.#uncork())
    }
    this.#webSocket.send(message, { binary: true })
  }

  close(abort = false): void {
    if (abort) {
      this.#webSocket.terminate()
      return
    }
    this.#webSocket.close(1000)
    setTimeout(() => this.#webSocket.terminate(), CLOSE_TIMEOUT_MS).unref()
  }

  /** Hands everything that the WebSocket receives to the link, up to and including its end. */
  deliverTo(link: Link): void {
    this.#webSocket.on('message', (data, isBinary) => {
      if (isBinary) link.receive(bytesOf(data))
      else link.receiveText()
    })
    this.#webSocket.on('error', error => link.transportClosed(error.message))
    this.#webSocket.on('close', (code, reason) => link.transportClosed(closeReason(code, reason)))
    this.#socket.on('drain', () => link.drained())
  }

  #uncork(): void {
    this.#isCorked = false
    this.#socket.uncork()
  }
}

function bytesOf(data: RawData): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  return Array.isArray(data) ? Buffer.concat(data) : data
}

function closeReason(code: number, reason: Buffer): string {
  const text = reason.toString()
  return text === '' ? `WebSocket closed with ${code}` : `WebSocket closed with ${code}: ${text}`
}
