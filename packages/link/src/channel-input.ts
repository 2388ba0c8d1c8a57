import { ByteQueue } from './byte-queue.ts'
import { emptyBytes } from './bytes.ts'
import type { ChannelState } from './channel-host.ts'
import { ChannelClosedError, LinkEndedError } from './errors.ts'
import { encodeAdjust, encodeFrame, FRAME } from './frames.ts'
import { ReceiveWindow } from './receive-window.ts'
import type { WheelEntry } from './wheel.ts'

// ChannelClose of a legacy peer means that its data has ended too. While it is unknown whether the peer is one, its data counts as ended
// after this time without data, in milliseconds (docs/protocol.md 1.7).
const STOP_IDLE_MS = 300

interface Reader {
  resolve(bytes: Uint8Array | null): void
  reject(error: Error): void
}

/** Incoming direction of a channel: the peer's data until its end or until this side stops reading (docs/protocol.md 2.5, 2.7). */
export class ChannelInput implements WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  readonly window = new ReceiveWindow()
  onReadable: (() => void) | undefined = undefined
  /** The peer has ended its data. */
  hasPeerEnded = false
  /** The peer has aborted the channel before the end of its data (`isPeerNode`). */
  hasPeerAborted = false
  /** ChannelClose was sent: this side has stopped reading. */
  hasSentStop = false
  /** The application has read the end of the peer's data. */
  hasReadEnd = false
  readonly #core: ChannelState
  // `#arriving` is the frame that is being offered to onReadable. `#inbox` has the bytes that the application has not read yet.
  #arriving: Uint8Array | undefined = undefined
  #inbox: ByteQueue | undefined = undefined
  #reader: Reader | undefined = undefined
  /**
   * Value of `Wheel.rounds`, which counts the firings of the wheel's timer, when the idle time was first found to have passed.
   * 0 until then.
   */
  #idleRound = 0

  constructor(core: ChannelState) {
    this.#core = core
  }

  /** True when the link ended, or the peer aborted the channel, before the peer's end of data. */
  get isTruncated(): boolean {
    return (
      this.hasPeerAborted || (this.#core.linkEnd !== undefined && !this.hasPeerEnded && !this.hasSentStop)
    )
  }

  /** Handles a ChannelData frame. Returns false when the frame exceeds the peer's credit. */
  receiveData(message: Uint8Array): boolean {
    const length = message.length - FRAME.dataHeaderBytes
    if (!this.window.arrived(length)) return false
    // Data that arrives after this side stopped reading or the peer ended its data is dropped, provided that the peer had credit for it.
    // Current Nexigon agents drop such data as well.
    if (this.hasSentStop || this.hasPeerEnded || this.hasPeerAborted) return true
    if (this.wheelTick > 0) this.endAfterIdle()
    if (length === 0) {
      // Agents of 2025 can send empty data. It is not the end of the data (docs/protocol.md R-10).
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

  /** Handles the end of the peer's data. */
  receiveEnd(): void {
    if (this.hasPeerEnded || this.hasPeerAborted) return
    this.hasPeerEnded = true
    this.#core.host.wheel.cancel(this)
    this.#announceEnd()
  }

  /** Handles the end of a channel that another node has aborted. */
  receiveAbort(): void {
    if (this.hasPeerEnded || this.hasPeerAborted || this.hasSentStop) return
    this.hasPeerAborted = true
    this.#core.host.wheel.cancel(this)
    this.#announceEnd()
  }

  /**
   * Handles ChannelClose of a peer whose generation (`peerAge`) is unknown: ends the peer's data once no data has arrived for
   * `STOP_IDLE_MS`.
   */
  endAfterIdle(): void {
    if (this.hasPeerEnded || this.hasSentStop) return
    this.#idleRound = 0
    this.#core.host.wheel.schedule(this, STOP_IDLE_MS)
  }

  /** Decides whether the time without data means that the peer's data has ended. */
  onDeadline(): void {
    const { peerAge, wheel } = this.#core.host
    if (peerAge === 'Current') return
    if (peerAge === 'Unknown' && !this.window.isOpen) {
      // A peer without credit cannot send, so missing data is not a sign of the end.
      this.endAfterIdle()
    } else if (peerAge === 'Unknown' && (this.#idleRound === 0 || this.#idleRound === wheel.rounds)) {
      // After a blocked event loop, the timer wheel runs several ticks before the event loop reads the socket, so data may have arrived but
      // be unread. The decision is therefore postponed to the next firing of the wheel's timer, which comes after that read.
      this.#idleRound = wheel.rounds
      wheel.scheduleTicks(this, 1)
    } else {
      this.receiveEnd()
    }
  }

  /** Settles the pending read after the link ended. */
  linkEnded(): void {
    this.#core.host.wheel.cancel(this)
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
    if (!this.hasPeerEnded && !this.hasPeerAborted && this.#core.linkEnd === undefined) return undefined
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
    if (bytes === null && this.isTruncated) {
      const { linkEnd } = this.#core
      return Promise.reject(
        linkEnd === undefined
          ? new ChannelClosedError('the peer aborted the channel')
          : new LinkEndedError(linkEnd),
      )
    }
    return Promise.resolve(bytes)
  }

  stop(): void {
    // Once the application has read the end of the data, there is nothing to stop.
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
    this.#core.host.wheel.cancel(this)
    const receiverId = this.#core.remoteId
    this.#core.host.sendControl(encodeFrame({ type: 'ChannelClose', receiverId, reason: emptyBytes() }))
  }

  #consumed(frames: number, bytes: number): void {
    const window = this.window
    if (!window.consumed(frames, bytes)) return
    // A peer that has ended its data needs no credit.
    if (this.hasSentStop || this.hasPeerEnded || this.hasPeerAborted || this.#core.linkEnd !== undefined)
      return
    const host = this.#core.host
    window.grant(host.now(), host.growthHorizonMs(), host.limits)
    if (this.wheelTick > 0) this.endAfterIdle()
    host.sendControl(encodeAdjust(this.#core.remoteId, window.grantedFrames, window.grantedBytes))
  }

  #notify(): void {
    if (this.onReadable !== undefined) this.#core.host.guard(this.#core, this.onReadable)
  }

  #announceEnd(): void {
    const reader = this.#reader
    if (reader !== undefined) {
      this.#reader = undefined
      // A pending read means that no data is queued. So this second read() resolves to null at the end of the data, or rejects
      // if the data is truncated.
      this.read().then(reader.resolve, reader.reject)
    }
    this.#notify()
  }
}
