import { allocate } from './bytes.ts'
import type { Link } from './link.ts'
import type { Transport } from './transport.ts'

/** Milliseconds within which the peer must answer the closing handshake. */
const CLOSE_TIMEOUT_MS = 5_000

/** The subset of a WebSocket that a link uses; sockets of the `ws` package match it. */
interface WebSocketLike {
  readonly readyState: number
  readonly OPEN: number
  readonly bufferedAmount: number
  send(data: Uint8Array, options: { binary: boolean }): void
  ping(): void
  close(code?: number): void
  terminate(): void
  on(event: 'message', listener: (data: WebSocketData, isBinary: boolean) => void): unknown
  on(event: 'pong', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'close', listener: (code: number, reason: Uint8Array) => void): unknown
}

/** Types of the messages that a WebSocket delivers. */
type WebSocketData = ArrayBuffer | Buffer | Buffer[]

/**
 * Longest message that a server copies behind its WebSocket header, in bytes. One buffer is written at less cost than two; a longer message
 * costs more to copy.
 */
const MAX_COPIED_BYTES = 4096

/** The TCP or TLS socket below a WebSocket. */
interface SocketLike {
  cork(): void
  uncork(): void
  write(data: Uint8Array): unknown
  on(event: 'drain', listener: () => void): unknown
}

/**
 * Property under which a WebSocket and its TCP or TLS socket hold their link. Listeners shared by all connections take less memory than
 * closures for each connection.
 */
const LINK = Symbol('link')
type Delivering = { [LINK]?: Link }

/**
 * A WebSocket as the transport of a link (docs/protocol.md 2.1). All frames of one event-loop turn are sent in one write, which
 * makes many small acknowledgements cheap.
 */
export class WebSocketTransport implements Transport {
  readonly #webSocket: WebSocketLike
  readonly #socket: SocketLike
  readonly #isServer: boolean
  #isCorked = false
  #hasProbed = false

  /**
   * `socket` is the TCP or TLS socket below the WebSocket. The WebSocket and the socket must be connected. With `isServer`, the WebSocket is
   * the server's end of its connection and compresses nothing; small messages are then written to the socket itself.
   */
  constructor(webSocket: WebSocketLike, socket: SocketLike, { isServer = false } = {}) {
    this.#webSocket = webSocket
    this.#socket = socket
    this.#isServer = isServer
  }

  get bufferedBytes(): number {
    return this.#webSocket.bufferedAmount
  }

  send(message: Uint8Array): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return
    this.#cork()
    if (this.#isServer && message.length <= MAX_COPIED_BYTES) this.#socket.write(binaryFrame(message))
    else this.#webSocket.send(message, { binary: true })
  }

  /** Sends a ping of the WebSocket. Its pong follows the peer's reading of all messages sent before. */
  probe(): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return
    // Most connections never send one, so the listener is added on first use.
    if (!this.#hasProbed) this.#webSocket.on('pong', onPong)
    this.#hasProbed = true
    this.#cork()
    this.#webSocket.ping()
  }

  close(abort = false, code: 1000 | 1013 = 1000): void {
    if (abort) {
      this.#webSocket.terminate()
      return
    }
    this.#webSocket.close(code)
    setTimeout(() => this.#webSocket.terminate(), CLOSE_TIMEOUT_MS).unref()
  }

  /** Passes everything that the WebSocket receives to the link, including errors and the close. No listener throws. */
  deliverTo(link: Link): void {
    ;(this.#webSocket as Delivering)[LINK] = link
    this.#webSocket.on('message', onMessage)
    this.#webSocket.on('error', onError)
    this.#webSocket.on('close', onClose)
    ;(this.#socket as Delivering)[LINK] = link
    this.#socket.on('drain', onDrain)
  }

  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#socket.cork()
    if (corked.push(this) === 1) setImmediate(uncorkAll)
  }

  /** Sends the frames of this event-loop turn. */
  uncork(): void {
    this.#isCorked = false
    this.#socket.uncork()
  }
}

/** A binary message of at most 65,535 bytes as the frame of a server, which is not masked (RFC 6455, 5.2). */
function binaryFrame(message: Uint8Array): Uint8Array {
  const { length } = message
  const headerBytes = length < 126 ? 2 : 4
  const frame = allocate(headerBytes + length)
  frame[0] = 0x82
  if (length < 126) frame[1] = length
  else {
    frame[1] = 126
    frame[2] = length >>> 8
    frame[3] = length
  }
  frame.set(message, headerBytes)
  return frame
}

/** Transports that sent something in this event-loop turn. */
let corked: WebSocketTransport[] = []

function uncorkAll(): void {
  const transports = corked
  corked = []
  for (const transport of transports) transport.uncork()
}

function onMessage(this: Delivering, data: WebSocketData, isBinary: boolean): void {
  if (isBinary) this[LINK]!.receive(bytesOf(data))
  else this[LINK]!.receiveText()
}

function onPong(this: Delivering): void {
  this[LINK]!.probed()
}

function onError(this: Delivering, error: Error): void {
  this[LINK]!.transportClosed(error.message)
}

function onClose(this: Delivering, code: number, reason: Uint8Array): void {
  this[LINK]!.transportClosed(closeReason(code, reason))
}

function onDrain(this: Delivering): void {
  this[LINK]!.drained()
}

function bytesOf(data: WebSocketData): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  return Array.isArray(data) ? Buffer.concat(data) : data
}

function closeReason(code: number, reason: Uint8Array): string {
  const text = Buffer.from(reason).toString()
  return text === '' ? `WebSocket closed with ${code}` : `WebSocket closed with ${code}: ${text}`
}
