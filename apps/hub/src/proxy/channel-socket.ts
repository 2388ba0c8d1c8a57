import { Duplex } from 'node:stream'
import type { Channel } from '@muster/link'

/**
 * A channel with the socket interface of Node's HTTP client. Back-pressure works in both directions: data is read only when a reader wants
 * it, and a write completes when the channel has room again.
 */
export class ChannelSocket extends Duplex {
  readonly #channel: Channel
  #written: ((error?: Error | null) => void) | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #isPumping = false
  /** The value of `setTimeout`; Node's HTTP client reads it from this property. */
  timeout = 0

  constructor(channel: Channel) {
    super({ allowHalfOpen: false })
    this.#channel = channel
    // Between the HTTP client and the next owner of the socket nothing listens for errors, and a broken link must not become an uncaught
    // exception.
    this.on('error', () => {})
    channel.onReadable = () => this.#pump()
    channel.onWritable = () => this.#settle()
    void channel.closed.then(() => this.#settle())
  }

  override _read(): void {
    this.#pump()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#idleTimer?.refresh()
    if (!this.#channel.canWrite) this.#endWrite(done)
    else if (this.#channel.tryWrite(chunk)) done()
    else this.#written = done
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#channel.end()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#idleTimer)
    this.#channel.close()
    done(error)
  }

  /** Emits `timeout` after `idleMs` without data in either direction, as sockets do. 0 disables it and removes the listener. */
  setTimeout(idleMs: number, onTimeout?: () => void): this {
    clearTimeout(this.#idleTimer)
    this.timeout = idleMs
    this.#idleTimer = idleMs > 0 ? setTimeout(() => this.emit('timeout'), idleMs).unref() : undefined
    if (onTimeout) this[idleMs > 0 ? 'once' : 'off']('timeout', onTimeout)
    return this
  }

  // Socket options that Node's HTTP client sets. Channels behave that way by default.
  setKeepAlive(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }

  /** Delivers all data that arrives within this event-loop turn at once, so that it is forwarded in one write. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      this.#handOn()
    })
  }

  #handOn(): void {
    while (!this.destroyed) {
      const bytes = this.#channel.tryRead()
      if (bytes === undefined) return
      this.#idleTimer?.refresh()
      if (bytes === null) {
        if (this.#channel.isTruncated) this.destroy(this.#failure())
        else this.push(null)
        return
      }
      if (!this.push(bytes)) return
    }
  }

  #settle(): void {
    const done = this.#written
    this.#written = undefined
    if (done) this.#endWrite(done)
  }

  /** A service that stops reading may have answered already. Its answer is kept, and further writes are discarded. */
  #endWrite(done: (error?: Error | null) => void): void {
    done(this.#channel.isTruncated ? this.#failure() : null)
  }

  #failure(): Error {
    return new Error('the connection to the device broke')
  }
}
