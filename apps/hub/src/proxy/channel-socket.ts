import { Duplex } from 'node:stream'
import type { Channel } from '@muster/link'

/**
 * A channel as Node's HTTP client knows sockets. Back-pressure goes through in both directions: nothing is read that nobody
 * takes, and a write ends when the channel has room again.
 */
export class ChannelSocket extends Duplex {
  readonly #channel: Channel
  #written: ((error?: Error | null) => void) | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #isPumping = false
  /** What was set with `setTimeout`, where Node's client looks for it. */
  timeout = 0

  constructor(channel: Channel) {
    super({ allowHalfOpen: false })
    this.#channel = channel
    // Between the HTTP client and whoever takes over nobody listens: a broken link must not become an uncaught error.
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

  /** Emits `timeout` after so long without data in either direction, as sockets do; 0 for never, which takes a listener away. */
  setTimeout(idleMs: number, onTimeout?: () => void): this {
    clearTimeout(this.#idleTimer)
    this.timeout = idleMs
    this.#idleTimer = idleMs > 0 ? setTimeout(() => this.emit('timeout'), idleMs).unref() : undefined
    if (onTimeout) this[idleMs > 0 ? 'once' : 'off']('timeout', onTimeout)
    return this
  }

  // What the HTTP client asks of sockets and channels have by themselves.
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

  /** Hands on, in one go, what has arrived by the end of this turn of the event loop: it leaves in one write then. */
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

  /** A service that reads no more may have answered first: what it said counts, and what is written to it goes nowhere. */
  #endWrite(done: (error?: Error | null) => void): void {
    done(this.#channel.isTruncated ? this.#failure() : null)
  }

  #failure(): Error {
    return new Error('the connection to the device broke')
  }
}
