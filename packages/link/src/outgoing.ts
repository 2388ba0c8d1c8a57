import type { LinkLimits } from './limits.ts'
import type { Transport } from './transport.ts'

/** A channel with data to send. */
export interface DataSource {
  /** Sends one frame. Returns true when there are credit and data for another frame. */
  sendFrame(): boolean
}

/**
 * Output queue of a link. The transport's own buffer is kept short. Queued control frames are sent first, then the
 * channels with data send one frame each in rotation (docs/protocol.md 2.5 R-9, 2.9 R-16).
 */
export class Outgoing {
  /** Number of data bytes queued in channels. */
  queuedBytes = 0
  readonly #transport: Transport
  readonly #limits: LinkLimits
  #sentBytes = 0
  #controlBytes = 0
  #control: Uint8Array[] | undefined
  #sources: (DataSource | undefined)[] | undefined
  #nextSource = 0
  #isPumping = false
  #isStopped = false

  constructor(transport: Transport, limits: LinkLimits) {
    this.#transport = transport
    this.#limits = limits
  }

  /** True when data can be sent now without overtaking queued frames. */
  get isClear(): boolean {
    return (
      this.#control === undefined &&
      this.#sources === undefined &&
      this.#transport.bufferedBytes < this.#limits.transportBufferBytes
    )
  }

  /** True when more frames other than data are queued than the limits allow, because the peer reads too slowly. */
  get isControlOverfull(): boolean {
    return (
      this.#control !== undefined &&
      (this.#control.length > this.#limits.maxQueuedFrames ||
        this.#controlBytes + this.#transport.bufferedBytes > this.#limits.maxQueuedBytes)
    )
  }

  /** True when more data is queued than `maxQueuedBytes` allows. */
  get isDataOverfull(): boolean {
    return this.queuedBytes + this.#transport.bufferedBytes > this.#limits.maxQueuedBytes
  }

  /** True while the queued bytes are below the link's high-water mark. */
  get hasRoom(): boolean {
    return this.queuedBytes + this.#transport.bufferedBytes < this.#limits.linkHighWaterBytes
  }

  /**
   * Hands a frame to the transport immediately. The link sends Hello, Pings and Pongs this way. A channel sends a data frame this
   * way when no frame is queued before it, or when the rotation reaches the channel.
   */
  send(frame: Uint8Array): void {
    this.#sentBytes += frame.length
    this.#transport.send(frame)
  }

  /** Number of bytes sent so far: a position for isPast(). */
  get position(): number {
    return this.#sentBytes
  }

  /** True when everything sent up to the position has left the transport's buffer. */
  isPast(position: number): boolean {
    return this.#transport.bufferedBytes <= this.#sentBytes - position
  }

  /** Sends a frame other than data, after queued control frames and ahead of queued data. */
  sendControl(frame: Uint8Array): void {
    if (this.#isStopped) return
    if (this.#control === undefined && this.#transport.bufferedBytes < this.#limits.transportBufferBytes) {
      this.send(frame)
      return
    }
    this.#control ??= []
    this.#control.push(frame)
    this.#controlBytes += frame.length
  }

  /**
   * Adds a channel to the rotation. The channels of the rotation send one frame each in turn. A channel leaves the rotation
   * when its sendFrame() returns false. A channel in the rotation must not be added again.
   */
  addSource(source: DataSource): void {
    this.#sources ??= []
    this.#sources.push(source)
    this.pump()
  }

  /** Sends queued frames as far as the transport has room. */
  pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    const room = this.#limits.transportBufferBytes
    while (this.#transport.bufferedBytes < room) {
      if (this.#control !== undefined) {
        const control: Uint8Array[] = this.#control
        let sent = 0
        while (sent < control.length && this.#transport.bufferedBytes < room) {
          const frame = control[sent++]!
          this.#controlBytes -= frame.length
          this.send(frame)
        }
        if (sent === control.length) this.#control = undefined
        else control.splice(0, sent)
      } else if (this.#sources !== undefined) {
        this.#sendFromNext(this.#sources)
      } else {
        break
      }
    }
    this.#isPumping = false
  }

  /**
   * Stops this queue for good. With `lastFrame`, all queued control frames and then `lastFrame` are handed to the transport;
   * otherwise queued control frames are dropped. Queued data is always dropped.
   */
  stop(lastFrame?: Uint8Array): void {
    const control = this.#control
    this.#control = undefined
    this.#sources = undefined
    if (lastFrame !== undefined) {
      for (const frame of control ?? []) this.send(frame)
      this.send(lastFrame)
    }
    this.#isStopped = true
  }

  #sendFromNext(sources: (DataSource | undefined)[]): void {
    const source = sources[this.#nextSource]!
    sources[this.#nextSource++] = undefined
    if (source.sendFrame()) sources.push(source)
    // sendFrame() may have stopped this queue.
    if (this.#sources !== sources) return
    if (this.#nextSource === sources.length) {
      this.#sources = undefined
      this.#nextSource = 0
    } else if (this.#nextSource >= 64) {
      sources.splice(0, this.#nextSource)
      this.#nextSource = 0
    }
  }
}
