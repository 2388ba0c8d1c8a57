import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'

/** Port on this machine, and TLS settings. */
export type Target = {
  port: number
  /** Client certificate and key for TLS; absent for plain TCP. */
  secureContext?: SecureContext
  /** TLS session to resume. */
  session?: Buffer | undefined
  /** Called with each TLS session that the server offers. */
  onSession?: (session: Buffer) => void
}

// WebSocket clients have to mask their frames. A constant mask is cheap for the client. Unmasking costs the server the same for
// every mask except zero.
const MASK = [1, 2, 3, 4] as const
const BINARY = 0x82

/**
 * Client end of a WebSocket on a raw socket. Messages are sent as prepared frames, which costs little CPU time. This matters
 * because load clients share the machine with the measured hub.
 */
export class RawSocket {
  onMessage: (message: Buffer) => void = () => {}
  readonly #socket: Socket
  #rest: Buffer | undefined
  /** Time in milliseconds since 1970 when the WebSocket was accepted. */
  readonly acceptedAt = Date.now()

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /**
   * Connects and upgrades to WebSocket. Rejects if the connection or the upgrade is refused. `onClose` is called when an opened
   * connection is closed.
   */
  static open(target: Target, path: string, headers: string, onClose?: () => void): Promise<RawSocket> {
    return new Promise((done, failed) => {
      const at = { host: '127.0.0.1', port: target.port }
      const { secureContext, session, onSession } = target
      const socket = secureContext
        ? connectTls({ ...at, secureContext, rejectUnauthorized: false, ...(session && { session }) })
        : connectTcp(at)
      if (onSession) socket.on('session', onSession)
      socket.setNoDelay(true)
      socket.once(secureContext ? 'secureConnect' : 'connect', () => {
        opened = new RawSocket(socket)
        socket.write(
          `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
            `Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n${headers}\r\n`,
        )
      })
      let opened: RawSocket | undefined
      let head = ''
      const readHead = (chunk: Buffer): void => {
        head += chunk.toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        socket.off('data', readHead)
        if (!head.startsWith('HTTP/1.1 101')) {
          failed(new Error(`refused: ${head.slice(0, head.indexOf('\r\n'))}`))
          socket.destroy()
          return
        }
        const behind = Buffer.from(head.slice(end + 4), 'latin1')
        if (behind.length > 0) opened!.#rest = behind
        socket.on('data', piece => opened!.#read(piece))
        socket.once('close', () => onClose?.())
        done(opened!)
      }
      socket.on('data', readHead)
      socket.on('error', failed)
      socket.once('close', () => failed(new Error('closed before the upgrade')))
    })
  }

  get isResumed(): boolean {
    return (this.#socket as { isSessionReused?: () => boolean }).isSessionReused?.() ?? false
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  /** Sends frames made by `frameOf`. */
  write(frame: Buffer): void {
    this.#socket.write(frame)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    const data = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = undefined
    let at = 0
    while (data.length - at >= 2) {
      let length = data[at + 1]!
      let start = at + 2
      if (length === 126 && data.length - at >= 4) {
        length = data.readUInt16BE(start)
        start += 2
      } else if (length === 127 && data.length - at >= 10) {
        length = data.readUIntBE(start + 2, 6)
        start += 8
      } else if (length >= 126) break
      if (data.length < start + length) break
      if (data[at] !== BINARY) {
        this.destroy()
        return
      }
      this.onMessage(data.subarray(start, start + length))
      at = start + length
    }
    if (at < data.length) this.#rest = data.subarray(at)
  }
}

/** Encodes a message of at most 65,535 bytes as one masked frame. */
export function frameOf(message: Uint8Array): Buffer {
  const isShort = message.length < 126
  const frame = Buffer.allocUnsafe(frameHeaderBytes(message.length) + message.length)
  frame[0] = BINARY
  frame[1] = 0x80 | (isShort ? message.length : 126)
  if (!isShort) frame.writeUInt16BE(message.length, 2)
  const start = frame.length - message.length
  frame.set(MASK, start - 4)
  for (let at = 0; at < message.length; at++) frame[start + at] = message[at]! ^ MASK[at & 3]!
  return frame
}

/** Length of the frame header for a message of this length. */
function frameHeaderBytes(messageBytes: number): number {
  return messageBytes < 126 ? 6 : 8
}

/** Replaces the byte at offset `at` of the message inside its masked frame. */
export function patchFrame(frame: Buffer, messageBytes: number, at: number, byte: number): void {
  frame[frameHeaderBytes(messageBytes) + at] = byte ^ MASK[at & 3]!
}
