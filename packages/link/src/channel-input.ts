import { ByteQueue } from './byte-queue.ts'
import { emptyBytes } from './bytes.ts'
import type { ChannelCore } from './channel-core.ts'
import { LinkEndedError } from './errors.ts'
import { encodeAdjust, encodeFrame, FRAME } from './frames.ts'
import { ReceiveWindow } from './receive-window.ts'

interface Reader {
  resolve(bytes: Uint8Array | null): void
  reject(error: Error): void
}

/** The peer's data on one channel, until it ends or nobody wants more (protocol 2.5, 2.7). */
export class ChannelInput {
  readonly window = new ReceiveWindow()
  onReadable: (() => void) | undefined = undefined
  /** The peer will send no more. */
  hasPeerEnded = false
  /** The peer was told that we read no more. */
  hasSentStop = false
  /** The application has seen the end. */
  hasReadEnd = false
  readonly #core: ChannelCore
  // Received bytes that are just being offered to the reader, and those that it left lying.
  #arriving: Uint8Array | undefined = undefined
  #inbox: ByteQueue | undefined = undefined
  #reader: Reader | undefined = undefined

  constructor(core: ChannelCore) {
    this.#core = core
  }

  /** True when the link ended before the peer's end of data. */
  get isTruncated(): boolean {
    return this.#core.linkEnd !== undefined && !this.hasPeerEnded && !this.hasSentStop
  }

  /** Takes a ChannelData frame; false when it exceeds the credit. */
  receiveData(message: Uint8Array): boolean {
    const length = message.length - FRAME.dataHeaderBytes
    if (!this.window.arrived(length)) return false
    // Late data after either end of this direction is dropped within the old credit, as public peers do.
    if (this.hasSentStop || this.hasPeerEnded) return true
    if (length === 0) {
      // An old peer can send this; it is not an end.
      this.#consumed(1, 0)
      return true
    }
    const payload = new Uint8Array(message.buffer, message.byteOffset + FRAME.dataHeaderBytes, length)
    if (this.#reader !== undefined) {
      const reader = this.#reader
      this.#reader = undefined
      this.#consumed(1, length)
      reader.resolve(payload)
    } else if (this.#inbox !== undefined && this.#inbox.length > 0) {
      this.#inbox.push(payload)
      this.#notify()
    } else {
      this.#arriving = payload
      this.#notify()
      if (this.#arriving !== undefined) {
        this.#inbox ??= new ByteQueue()
        this.#inbox.push(this.#arriving)
        this.#arriving = undefined
      }
    }
    return true
  }

  /** Takes the end of the peer's data. */
  receiveEnd(): void {
    if (this.hasPeerEnded) return
    this.hasPeerEnded = true
    this.#announceEnd()
  }

  /** Tells whoever waits that the link is gone. */
  linkEnded(): void {
    this.#announceEnd()
  }

  tryRead(): Uint8Array | null | undefined {
    const arriving = this.#arriving
    if (arriving !== undefined) {
      this.#arriving = undefined
      this.#consumed(1, arriving.length)
      return arriving
    }
    const inbox = this.#inbox
    const piece = inbox?.shift()
    if (inbox !== undefined && piece !== undefined) {
      this.#consumed(inbox.shiftedPushes, piece.length)
      return piece
    }
    if (this.hasSentStop) return null
    if (!this.hasPeerEnded && this.#core.linkEnd === undefined) return undefined
    if (!this.hasReadEnd) {
      this.hasReadEnd = true
      this.#core.settle()
    }
    return null
  }

  read(): Promise<Uint8Array | null> {
    if (this.#reader !== undefined) return Promise.reject(new Error('another read() is waiting'))
    const bytes = this.tryRead()
    if (bytes === undefined) {
      return new Promise((resolve, reject) => {
        this.#reader = { resolve, reject }
      })
    }
    const { linkEnd } = this.#core
    if (bytes === null && this.isTruncated && linkEnd !== undefined) {
      return Promise.reject(new LinkEndedError(linkEnd))
    }
    return Promise.resolve(bytes)
  }

  stop(): void {
    // After the peer's end there is nothing to stop.
    if (this.hasSentStop || this.hasReadEnd || this.#core.linkEnd !== undefined) return
    this.sendStop()
    this.#arriving = undefined
    this.#inbox = undefined
    const reader = this.#reader
    this.#reader = undefined
    reader?.resolve(null)
    this.#core.settle()
  }

  /** Sends ChannelClose. */
  sendStop(): void {
    this.hasSentStop = true
    const receiverId = this.#core.remoteId
    this.#core.host.sendControl(encodeFrame({ type: 'ChannelClose', receiverId, reason: emptyBytes() }))
  }

  #consumed(frames: number, bytes: number): void {
    const window = this.window
    if (!window.consumed(frames, bytes)) return
    // Credit is of no use to a peer that has nothing more to send.
    if (this.hasSentStop || this.hasPeerEnded || this.#core.linkEnd !== undefined) return
    const host = this.#core.host
    window.grant(host.now(), host.growthHorizonMs(), host.limits)
    host.sendControl(encodeAdjust(this.#core.remoteId, window.grantedFrames, window.grantedBytes))
  }

  #notify(): void {
    if (this.onReadable !== undefined) this.#core.host.guard(this.#core, this.onReadable)
  }

  #announceEnd(): void {
    const reader = this.#reader
    if (reader !== undefined) {
      this.#reader = undefined
      // Nothing is queued while a reader waits, so it gets the end or learns of the truncation.
      this.read().then(reader.resolve, reader.reject)
    }
    this.#notify()
  }
}
