import { Duplex } from 'node:stream'
import type { Channel } from '@muster/link'

/** Wraps a channel as a Node stream, for code that expects a socket. */
export class ChannelStream extends Duplex {
  readonly #channel: Channel
  #isWanted = false
  #written: (() => void) | undefined

  constructor(channel: Channel) {
    super({ allowHalfOpen: true })
    this.#channel = channel
    channel.onReadable = () => this.#deliver()
    channel.onWritable = () => this.#continue()
    channel.onPeerStopped = () => this.destroy()
  }

  // HTTP servers set timeouts on sockets. They are ignored here, because the link's Pings detect a dead peer.
  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  override _read(): void {
    this.#isWanted = true
    this.#deliver()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: (error?: Error) => void): void {
    if (!this.#channel.canWrite) callback(new Error('the channel takes no more data'))
    else if (this.#channel.tryWrite(bytes)) callback()
    else this.#written = callback
  }

  override _final(callback: () => void): void {
    this.#channel.end()
    callback()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // After both directions have ended, the channel may still be sending queued data and then closes itself. Closing it here
    // would lose that data.
    if (error !== null || !this.readableEnded || !this.writableFinished) this.#channel.close()
    callback(error)
  }

  #deliver(): void {
    while (this.#isWanted) {
      const bytes = this.#channel.tryRead()
      if (bytes === undefined) return
      if (bytes === null && this.#channel.isTruncated) {
        this.destroy()
        return
      }
      this.#isWanted = this.push(bytes)
      if (bytes === null) return
    }
  }

  #continue(): void {
    const written = this.#written
    this.#written = undefined
    written?.()
    if (!this.#channel.canWrite && !this.writableEnded) this.destroy()
  }
}
