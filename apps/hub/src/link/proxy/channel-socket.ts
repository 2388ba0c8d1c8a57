import { Duplex } from 'node:stream'
import type { Channel } from '@muster/link'
import type { ForwardCounts } from '../../platform/runtime/measures.ts'
import type { AnswerReader } from './answer-reader.ts'

/** Parts of a channel that a `ChannelSocket` uses. `failure` is the reason why the bytes read are incomplete, if it is known. */
export type ByteChannel = Pick<
  Channel,
  | 'tryRead'
  | 'tryWrite'
  | 'canWrite'
  | 'end'
  | 'close'
  | 'closed'
  | 'isTruncated'
  | 'onReadable'
  | 'onWritable'
> & { readonly failure?: Error | undefined }

/**
 * Gives a channel the socket interface that Node's HTTP client needs. Back-pressure works in both directions: data is read only on demand,
 * and a write completes when the channel accepts more bytes.
 */
export class ChannelSocket extends Duplex {
  readonly #channel: ByteChannel
  readonly #counts: ForwardCounts | undefined
  /** Writes the answers of the device anew; undefined if the bytes are passed on as they are. */
  readonly answers: AnswerReader | undefined
  #written: ((error?: Error | null) => void) | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #isPumping = false
  /** Timeout set by `setTimeout`, in milliseconds. Node's HTTP client reads it from this property. */
  timeout = 0

  constructor(channel: ByteChannel, counts?: ForwardCounts, answers?: AnswerReader) {
    super({ allowHalfOpen: false })
    this.#channel = channel
    this.#counts = counts
    this.answers = answers
    if (counts) counts.open++
    // The HTTP client removes its error listener when it hands the socket over. Until the next owner adds one, a broken link would become
    // an uncaught exception.
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
    if (this.#counts) this.#counts.toDeviceBytes += chunk.length
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
    if (this.#counts) this.#counts.open--
    this.#channel.close()
    done(error)
  }

  /**
   * Emits `timeout` after `idleMs` without data in either direction, as sockets do. 0 disables the timeout and removes the
   * listener.
   */
  setTimeout(idleMs: number, onTimeout?: () => void): this {
    clearTimeout(this.#idleTimer)
    this.timeout = idleMs
    this.#idleTimer = idleMs > 0 ? setTimeout(() => this.emit('timeout'), idleMs).unref() : undefined
    if (onTimeout) this[idleMs > 0 ? 'once' : 'off']('timeout', onTimeout)
    return this
  }

  // Node's HTTP client calls these socket methods. A channel needs none of them.
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

  /** Delivers all data that arrives within this event-loop turn together, so that it is forwarded in one write. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      this.#deliver()
    })
  }

  #deliver(): void {
    let hasDelivered = false
    while (!this.destroyed) {
      const bytes = this.#channel.tryRead()
      if (bytes === undefined) return
      this.#idleTimer?.refresh()
      if (bytes === null) {
        // Node's HTTP client drops the begin of an answer that breaks off in the turn in which its head arrives.
        if (hasDelivered) setImmediate(() => this.#end())
        else this.#end()
        return
      }
      hasDelivered = true
      if (this.#counts) this.#counts.fromDeviceBytes += bytes.length
      if (!this.#accept(bytes)) return
    }
  }

  /** Passes bytes of the device on. Returns false while no more are wanted. */
  #accept(bytes: Uint8Array): boolean {
    if (this.answers === undefined) return this.push(bytes)
    let isWanted = true
    try {
      const { buffer, byteOffset, byteLength } = bytes
      for (const part of this.answers.read(Buffer.from(buffer, byteOffset, byteLength)))
        isWanted = this.push(part)
    } catch (error) {
      this.destroy(error as Error)
      return false
    }
    if (this.answers.isOver) this.push(null)
    return isWanted && !this.answers.isOver
  }

  /** Handles the end of the device's data. */
  #end(): void {
    if (this.destroyed) return
    if (this.#channel.isTruncated) return void this.destroy(this.#failure())
    try {
      this.answers?.end()
      if (!this.answers?.isOver) this.push(null)
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  #settle(): void {
    const done = this.#written
    this.#written = undefined
    if (done) this.#endWrite(done)
  }

  /**
   * Completes a write. Fails it if the link to the device broke. A device's service that no longer reads is not an error: it
   * may have sent its response already, so the socket stays open for reading.
   */
  #endWrite(done: (error?: Error | null) => void): void {
    done(this.#channel.isTruncated ? this.#failure() : null)
  }

  #failure(): Error {
    return this.#channel.failure ?? new Error('the connection to the device broke')
  }
}
