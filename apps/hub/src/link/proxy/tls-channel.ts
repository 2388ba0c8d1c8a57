import { constants } from 'node:crypto'
import { connect, createSecureContext, type TLSSocket } from 'node:tls'
import type { ForwardCounts } from '../../platform/runtime/measures.ts'
import { openPort, type ReachableDevice } from '../links/registry.ts'
import { type ByteChannel, ChannelSocket } from './channel-socket.ts'
import { Unreachable } from './pages.ts'

/** Deadline for the TLS handshake of a device's service, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 15_000
/** Deadline for the answer of a service that is asked whether it speaks TLS, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000

/**
 * Settings of TLS to a device's own service. The bytes travel within the link of the device, which has TLS of its own, and the service is on the
 * loopback address of the device. So neither its certificate is verified, which is self-signed on most devices, nor are old versions and short
 * keys refused. Without authorities in it, the context needs no list of them.
 */
const CONTEXT = createSecureContext({
  ca: [],
  minVersion: 'TLSv1',
  ciphers: 'DEFAULT:@SECLEVEL=0',
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
})

/**
 * Opens a channel to a port of a device and makes a TLS handshake over it. Rejects like `openPort`, with the error of the handshake, or with
 * `Unreachable`.
 */
export async function openTls(
  device: ReachableDevice,
  port: number,
  counts?: ForwardCounts,
  timeoutMs = HANDSHAKE_TIMEOUT_MS,
): Promise<ByteChannel> {
  const raw = new ChannelSocket(await openPort(device, port), counts)
  const socket = connect({ socket: raw, secureContext: CONTEXT, rejectUnauthorized: false })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('secureConnect', resolve)
  socket.on('error', reject)
  // A connection that ends without an error emits only `close`.
  socket.once('close', () => reject(new Unreachable('hungUp')))
  const timer = setTimeout(() => socket.destroy(new Unreachable('timeout')), timeoutMs)
  try {
    await promise
    return new TlsChannel(socket, raw)
  } catch (error) {
    socket.destroy()
    raw.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Whether a service on a port of a device answers a TLS handshake, even if it refuses it. Never rejects. */
export async function speaksTls(device: ReachableDevice, port: number): Promise<boolean> {
  try {
    const channel = await openTls(device, port, undefined, PROBE_TIMEOUT_MS)
    channel.close()
    return true
  } catch (error) {
    return isTlsAlert(error)
  }
}

/** True for the error of a service that has ended the TLS connection with an alert. */
export function isTlsAlert(error: unknown): boolean {
  const { code = '', message } = error as NodeJS.ErrnoException
  return /^(ERR_SSL_|EPROTO$)/.test(code) && /alert/i.test(`${code} ${message}`)
}

/** The decrypted bytes of a TLS connection, with the interface of a channel. */
class TlsChannel implements ByteChannel {
  onReadable: (() => void) | undefined = undefined
  onWritable: (() => void) | undefined = undefined
  readonly closed: Promise<void>
  failure: Error | undefined = undefined
  readonly #socket: TLSSocket
  readonly #raw: ChannelSocket

  constructor(socket: TLSSocket, raw: ChannelSocket) {
    this.#socket = socket
    this.#raw = raw
    const readable = (): void => this.onReadable?.()
    socket.on('readable', readable)
    socket.on('end', readable)
    socket.on('drain', () => this.onWritable?.())
    const fail = (error: Error): void => {
      this.failure ??= error
    }
    raw.on('error', fail)
    socket.on('error', fail)
    this.closed = new Promise(done => {
      socket.once('close', () => {
        raw.destroy()
        readable()
        done()
      })
    })
  }

  get isTruncated(): boolean {
    return this.failure !== undefined || (this.#socket.destroyed && !this.#socket.readableEnded)
  }

  get canWrite(): boolean {
    return this.#socket.writable
  }

  tryRead(): Uint8Array | null | undefined {
    const bytes = this.#socket.read() as Buffer | null
    if (bytes !== null) return bytes
    return this.#socket.readableEnded || this.#socket.destroyed ? null : undefined
  }

  tryWrite(bytes: Uint8Array): boolean {
    return this.#socket.write(bytes)
  }

  end(): void {
    this.#socket.end()
  }

  close(): void {
    this.#socket.destroy()
    this.#raw.destroy()
  }
}
