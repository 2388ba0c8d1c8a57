import type { Link } from './link.ts'
import type { Transport } from './transport.ts'

/** How long a peer may take to answer the closing handshake, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000

/** What a link needs of a WebSocket; those of the `ws` package fit. */
interface WebSocketLike {
  readonly readyState: number
  readonly OPEN: number
  readonly bufferedAmount: number
  send(data: Uint8Array, options: { binary: boolean }): void
  close(code?: number): void
  terminate(): void
  on(event: 'message', listener: (data: WebSocketData, isBinary: boolean) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'close', listener: (code: number, reason: Uint8Array) => void): unknown
}

/** The forms in which a WebSocket hands a message over. */
type WebSocketData = ArrayBuffer | Buffer | Buffer[]

/** The socket below a WebSocket. */
interface SocketLike {
  cork(): void
  uncork(): void
  on(event: 'drain', listener: () => void): unknown
}

/**
 * A WebSocket as the transport of a link (protocol 2.1). What is sent in one turn of the event loop leaves in one write, which is
 * what makes many small acknowledgements cheap.
 */
export class WebSocketTransport implements Transport {
  readonly #webSocket: WebSocketLike
  readonly #socket: SocketLike
  #isCorked = false

  /** Both must be connected; the socket is the one below the WebSocket. */
  constructor(webSocket: WebSocketLike, socket: SocketLike) {
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

  close(abort = false, code: 1000 | 1013 = 1000): void {
    if (abort) {
      this.#webSocket.terminate()
      return
    }
    this.#webSocket.close(code)
    setTimeout(() => this.#webSocket.terminate(), CLOSE_TIMEOUT_MS).unref()
  }

  /** Hands everything that the WebSocket receives to the link, up to and including its end. No listener throws. */
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

function bytesOf(data: WebSocketData): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  return Array.isArray(data) ? Buffer.concat(data) : data
}

function closeReason(code: number, reason: Uint8Array): string {
  const text = Buffer.from(reason).toString()
  return text === '' ? `WebSocket closed with ${code}` : `WebSocket closed with ${code}: ${text}`
}
