import { ByteQueue } from './byte-queue.ts'
import { emptyBytes } from './bytes.ts'
import type { ChannelCore } from './channel-core.ts'
import { ChannelClosedError, LinkEndedError } from './errors.ts'
import { allocateData, encodeFrame, FRAME } from './frames.ts'
import type { DataSource } from './outgoing.ts'
import { SendWindow } from './send-window.ts'
import type { WheelEntry } from './wheel.ts'

// Old peers throw away data that they have not read when they see its end, so the end keeps this distance.
const LEGACY_END_DELAY_MS = 300
const DONE: Promise<void> = Promise.resolve()

interface Writer {
  resolve(): void
  reject(error: Error): void
}

/** Our data on one channel, until it ends or the peer wants no more (protocol 2.5, 2.7). */
export class ChannelOutput implements DataSource, WheelEntry {
  wheelTick = 0
  wheelNext: WheelEntry | undefined = undefined
  wheelPrevious: WheelEntry | undefined = undefined
  onWritable: (() => void) | undefined = undefined
  /** The peer will read no more. */
  hasPeerStopped = false
  /** The peer was told that we send no more. */
  hasSentEnd = false
  /** Our data are answers of actions. */
  isAnswers = false
  /** True when an Adjust of the peer is due to data that we sent since its last one. */
  hasSentSinceAdjust = false
  readonly #core: ChannelCore
  readonly #window: SendWindow
  #queue: ByteQueue | undefined = undefined
  #writers: Writer[] | undefined = undefined
  #isTakingTurns = false
  #owesWritable = false
  #isEnding = false
  // For old peers only: where in the link's output our last data stands, whether it had left, and the most credit they ever gave.
  #dataPosition = 0
  #hasDataLeft = false
  #peakFrames: number
  #peakBytes: number

  constructor(core: ChannelCore, frameCredit: number, byteCredit: number) {
    this.#core = core
    this.#window = new SendWindow(frameCredit, byteCredit)
    this.#peakFrames = frameCredit
    this.#peakBytes = byteCredit
  }

  /** True while write() can still deliver something. */
  get canWrite(): boolean {
    return !this.#isEnding && !this.hasPeerStopped && this.#core.linkEnd === undefined
  }

  /** Bytes that wait to be sent. */
  get queuedBytes(): number {
    return this.#queue === undefined ? 0 : this.#queue.length
  }

  /** Takes credit; false when a counter overflows. */
  receiveAdjust(frames: number, bytes: number): boolean {
    this.hasSentSinceAdjust = false
    if (!this.#window.add(frames, bytes)) return false
    this.#peakFrames = Math.max(this.#peakFrames, this.#window.frames)
    this.#peakBytes = Math.max(this.#peakBytes, this.#window.bytes)
    this.#takeTurns()
    return true
  }

  /** Notes that the peer reads no more, and answers with our end. */
  receiveStop(): void {
    this.hasPeerStopped = true
    this.#fail()
    this.#sendEnd()
  }

  /** Tells whoever waits that the link is gone. */
  linkEnded(): void {
    this.#core.host.wheel.cancel(this)
    this.#fail()
  }

  /** Sends one frame of what waits; true when another could follow. */
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

  /** Sends the end to an old peer, once it had time to read since the data left. */
  onDeadline(): void {
    if (this.#hasDataLeft && !this.#isSurelyUnread) this.#endNow()
    else this.#finish()
  }

  /** An old peer that has read everything has at least half of its window open (protocol 2.5); this one has not. */
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
    // One write beyond the mark, however long, is in order; one after being told to wait is not, nor one on top of what other
    // channels of the link hold already when that is more than a link may hold.
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

  /** Ends at once, without what is queued. */
  abort(): void {
    this.#isEnding = true
    this.#drop()
    this.#sendEnd()
  }

  #hasRoom(): boolean {
    const { limits, outgoing } = this.#core.host
    const { queuedBytes } = this
    // What other channels hold back must not stop this one for good: with nothing waiting it may always write.
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
    if (host.isPeerLegacy) this.#dataPosition = host.outgoing.position
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

  /** Drops what is queued and fails those who wait. */
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
    if (this.#dataPosition > 0 && !this.hasSentEnd) {
      const { host } = this.#core
      this.#hasDataLeft = host.outgoing.isPast(this.#dataPosition)
      host.wheel.schedule(this, LEGACY_END_DELAY_MS)
    } else {
      this.#endNow()
    }
  }

  #endNow(): void {
    this.#sendEnd()
    this.#core.settle()
  }

  /** Sends ChannelClosed, once. */
  #sendEnd(): void {
    if (this.hasSentEnd) return
    this.hasSentEnd = true
    const { host, remoteId } = this.#core
    host.wheel.cancel(this)
    host.sendControl(encodeFrame({ type: 'ChannelClosed', receiverId: remoteId, reason: emptyBytes() }))
  }
}
