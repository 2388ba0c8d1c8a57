import { ByteQueue } from './byte-queue.ts'
import { emptyBytes } from './bytes.ts'
import type { ChannelState } from './channel-host.ts'
import { ChannelClosedError, LinkEndedError } from './errors.ts'
import { allocateData, encodeFrame, FRAME } from './frames.ts'
import type { DataSource } from './outgoing.ts'
import { SendWindow } from './send-window.ts'
import type { WheelEntry } from './wheel.ts'

// Legacy peers discard unread data when ChannelClosed arrives. So ChannelClosed is sent 300 ms after the proof that the peer has read the
// data: its answer to a Ping or probe that followed the data (docs/protocol.md R-12). Before that proof the data may still be in kernel
// buffers, and ChannelClosed would arrive right behind it.
const LEGACY_END_DELAY_MS = 300
// Interval at which an end that waits for the proof checks whether the peer's generation has become known.
const AGE_POLL_MS = 100
const DONE: Promise<void> = Promise.resolve()

interface Writer {
  resolve(): void
  reject(error: Error): void
}

/** Outgoing direction of a channel: this side's data until its end or until the peer stops reading (docs/protocol.md 2.5, 2.7). */
export class ChannelOutput implements DataSource, WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  onWritable: (() => void) | undefined = undefined
  /** The peer has stopped reading. */
  hasPeerStopped = false
  /** ChannelClosed was sent: this side has ended its data. */
  hasSentEnd = false
  /** True if this side's data are answers to the actions that the peer sends (executor channel). */
  isAnswers = false
  /** True if data was sent since the peer's last Adjust, so the peer's next Adjust is a reaction to that data. */
  hasSentSinceAdjust = false
  readonly #core: ChannelState
  readonly #window: SendWindow
  #queue: ByteQueue | undefined = undefined
  #writers: Writer[] | undefined = undefined
  #endSent: Promise<void> | undefined
  #resolveEndSent: (() => void) | undefined
  #isTakingTurns = false
  #owesWritable = false
  #isEnding = false
  // The next four fields are used for peers that are not known to be of the current generation (`peerAge`). `#dataPosition` is the
  // position in the link's output after the last data of this channel. `#hasPeerReadData` is true once the peer has read everything up
  // to that position. The peaks are the largest credit that this side had.
  #dataPosition = 0
  #hasPeerReadData = false
  #peakFrames: number
  #peakBytes: number

  constructor(core: ChannelState, frameCredit: number, byteCredit: number) {
    this.#core = core
    this.#window = new SendWindow(frameCredit, byteCredit)
    this.#peakFrames = frameCredit
    this.#peakBytes = byteCredit
  }

  /** True while write() accepts data. */
  get canWrite(): boolean {
    return !this.#isEnding && !this.hasPeerStopped && this.#core.linkEnd === undefined
  }

  /** Resolves once ChannelClosed was sent or the link ended. Created on first use. */
  get endSent(): Promise<void> {
    this.#endSent ??=
      this.hasSentEnd || this.#core.linkEnd !== undefined
        ? DONE
        : new Promise(resolve => {
            this.#resolveEndSent = resolve
          })
    return this.#endSent
  }

  /** Number of bytes that wait for credit or for the transport. */
  get queuedBytes(): number {
    return this.#queue === undefined ? 0 : this.#queue.length
  }

  /** Adds credit. Returns false when a counter overflows. */
  receiveAdjust(frames: number, bytes: number): boolean {
    this.hasSentSinceAdjust = false
    if (!this.#window.add(frames, bytes)) return false
    this.#peakFrames = Math.max(this.#peakFrames, this.#window.frames)
    this.#peakBytes = Math.max(this.#peakBytes, this.#window.bytes)
    this.#takeTurns()
    return true
  }

  /** Handles the peer's ChannelClose: the peer has stopped reading, so this side's data ends as well. */
  receiveStop(): void {
    this.hasPeerStopped = true
    this.#fail()
    this.#sendEnd()
  }

  /** Fails pending writes after the link ended. */
  linkEnded(): void {
    this.#core.host.wheel.cancel(this)
    this.#fail()
    this.#resolveEndSent?.()
  }

  /** Sends one queued frame. Returns true when credit and data for another frame remain. */
  sendFrame(): boolean {
    const queue = this.#queue
    const length = queue === undefined ? 0 : Math.min(this.#window.sendable, queue.length)
    if (queue !== undefined && length > 0) {
      const frame = allocateData(this.#core.remoteId, length)
      queue.copyTo(frame, FRAME.dataHeaderBytes, length)
      this.#core.host.outgoing.queuedBytes -= length
      this.#transmit(frame, length)
      if (queue.length * 2 < this.#core.host.limits.channelHighWaterBytes) this.#notify()
      this.#core.host.dataLeft(this.isAnswers)
      if (this.queuedBytes === 0 && this.#isEnding) this.#finish()
    }
    this.#isTakingTurns = this.queuedBytes > 0 && this.#window.sendable > 0
    return this.#isTakingTurns
  }

  /**
   * Sends ChannelClosed to a legacy peer if the peer had time to read the data. Otherwise schedules another check (docs/protocol.md R-12).
   */
  onDeadline(): void {
    if (this.#hasPeerReadData && !this.#isSurelyUnread) this.#endNow()
    else this.#finish()
  }

  /** Starts the delay before ChannelClosed when the proof has arrived that the peer has read the data (`ChannelHost.hasPeerRead`). */
  peerRead(): void {
    if (this.wheelTick > 0 && !this.#hasPeerReadData) this.#finish()
  }

  /**
   * True when this side has less than half of the peer's window as credit. A legacy peer that has read everything has returned at least
   * half of its window (docs/protocol.md 2.5).
   */
  get #isSurelyUnread(): boolean {
    return this.#window.frames * 2 < this.#peakFrames || this.#window.bytes * 2 < this.#peakBytes
  }

  tryWrite(bytes: Uint8Array): boolean {
    if (!this.canWrite) return false
    const length = bytes.length
    if (length === 0) return this.#hasRoom()
    const { outgoing, limits } = this.#core.host
    if (this.queuedBytes === 0 && length <= this.#window.sendable && outgoing.isClear) {
      const frame = allocateData(this.#core.remoteId, length)
      frame.set(bytes, FRAME.dataHeaderBytes)
      this.#transmit(frame, length)
      return true
    }
    // A single write may exceed the high-water mark. A write that begins above this mark, or while the link is above `maxQueuedBytes`,
    // ignores the backpressure. It ends the link if more than `maxQueuedBytes` are then queued.
    const wasFull = this.queuedBytes >= limits.channelHighWaterBytes || outgoing.isDataOverfull
    this.#queue ??= new ByteQueue()
    this.#queue.push(bytes)
    outgoing.queuedBytes += length
    this.#takeTurns()
    if (wasFull) this.#core.host.checkData()
    return this.#hasRoom()
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.tryWrite(bytes)) return DONE
    if (!this.canWrite) return Promise.reject(this.#error())
    return new Promise((resolve, reject) => {
      this.#writers ??= []
      this.#writers.push({ resolve, reject })
    })
  }

  end(): void {
    if (!this.canWrite) return
    this.#isEnding = true
    if (this.queuedBytes === 0) this.#finish()
  }

  /** Drops queued data and ends this direction immediately. `reason` is sent with the end. */
  abort(reason?: Uint8Array): void {
    this.#isEnding = true
    this.#drop()
    this.#sendEnd(reason)
  }

  #hasRoom(): boolean {
    const { limits, outgoing } = this.#core.host
    const { queuedBytes } = this
    // A channel without queued data may always write. Otherwise the queues of other channels could block it forever.
    const isLow = queuedBytes < limits.channelHighWaterBytes && (queuedBytes === 0 || outgoing.hasRoom)
    if (this.canWrite && isLow) return true
    this.#owesWritable = true
    return false
  }

  #error(): ChannelClosedError {
    const { linkEnd } = this.#core
    if (linkEnd !== undefined) {
      const cause = new LinkEndedError(linkEnd)
      return new ChannelClosedError(cause.message, { cause })
    }
    return new ChannelClosedError(this.hasPeerStopped ? 'the peer reads no more' : 'the channel was ended')
  }

  #transmit(frame: Uint8Array, length: number): void {
    const { host } = this.#core
    this.#window.spend(length)
    this.hasSentSinceAdjust = true
    host.outgoing.send(frame)
    if (host.peerAge !== 'Current') this.#dataPosition = host.outgoing.position
  }

  #takeTurns(): void {
    if (this.#isTakingTurns || this.queuedBytes === 0 || this.#window.sendable === 0) return
    this.#isTakingTurns = true
    this.#core.host.outgoing.addSource(this)
  }

  #notify(): void {
    const writers = this.#writers
    this.#writers = undefined
    for (const writer of writers ?? []) writer.resolve()
    if (!this.#owesWritable) return
    this.#owesWritable = false
    if (this.onWritable !== undefined) this.#core.host.guard(this.#core, this.onWritable)
  }

  /** Drops queued data and fails pending writes. */
  #drop(): void {
    if (this.#queue !== undefined) {
      this.#core.host.outgoing.queuedBytes -= this.#queue.length
      this.#queue = undefined
      this.#core.host.dataLeft(this.isAnswers)
    }
    const writers = this.#writers
    this.#writers = undefined
    for (const writer of writers ?? []) writer.reject(this.#error())
  }

  #fail(): void {
    this.#drop()
    this.#owesWritable = true
    this.#notify()
  }

  #finish(): void {
    if (this.#mayLoseData && !this.hasSentEnd) {
      const { host } = this.#core
      this.#hasPeerReadData = host.hasPeerRead(this.#dataPosition)
      // hasPeerRead() may have run a heartbeat check that ended the link.
      if (this.#core.linkEnd !== undefined) return
      host.wheel.schedule(this, this.#hasPeerReadData ? LEGACY_END_DELAY_MS : AGE_POLL_MS)
    } else {
      this.#endNow()
    }
  }

  /**
   * True when ChannelClosed right behind the data could make the peer discard unread data. Channels with answers to actions are exempt
   * while the peer's generation (`peerAge`) is unknown: a client ends its data only after reading its answers, and the server ends after
   * the client. Current peers allow only few channels, so they get ChannelClosed immediately, which frees the channel (docs/protocol.md
   *
   */
  get #mayLoseData(): boolean {
    const { peerAge, keepsUnreadData } = this.#core.host
    if (keepsUnreadData) return false
    return this.#dataPosition > 0 && (peerAge === 'Legacy' || (peerAge === 'Unknown' && !this.isAnswers))
  }

  #endNow(): void {
    this.#sendEnd()
    this.#core.settle()
  }

  /** Sends ChannelClosed, once. */
  #sendEnd(reason = emptyBytes()): void {
    if (this.hasSentEnd) return
    this.hasSentEnd = true
    const { host, remoteId } = this.#core
    host.wheel.cancel(this)
    host.sendControl(encodeFrame({ type: 'ChannelClosed', receiverId: remoteId, reason }))
    this.#resolveEndSent?.()
  }
}
