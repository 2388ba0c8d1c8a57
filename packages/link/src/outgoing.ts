import type { LinkLimits } from './limits.ts'
import type { Transport } from './transport.ts'

/** A channel with data to send. */
export interface DataSource {
  /** Sends one frame; true when credit and data for another are there. */
  sendFrame(): boolean
}

/**
 * The way out of one link. The transport's own buffer is kept short; behind it wait first the frames other
 * than data, then the channels with data, which take turns frame by frame (protocol 2.5 R-9, 2.9 R-16).
 */
export class Outgoing {
  /** Data bytes waiting in channels. */
  queuedBytes = 0
  readonly #transport: Transport
  readonly #limits: LinkLimits
  #sentBytes = 0
  #controlBytes = 0
  #control: Uint8Array[] | undefined
  #turns: (DataSource | undefined)[] | undefined
  #turn = 0
  #isPumping = false
  #isStopped = false

  constructor(transport: Transport, limits: LinkLimits) {
    this.#transport = transport
    this.#limits = limits
  }

  /** True when data may leave right now without overtaking anything. */
  get isClear(): boolean {
    return (
      this.#control === undefined &&
      this.#turns === undefined &&
      this.#transport.bufferedBytes < this.#limits.transportBufferBytes
    )
  }

  /** True when more frames other than data wait than the limits allow: the peer takes them too slowly. */
  get isControlOverfull(): boolean {
    return (
      this.#control !== undefined &&
      (this.#control.length > this.#limits.maxQueuedFrames ||
        this.#controlBytes + this.#transport.bufferedBytes > this.#limits.maxQueuedBytes)
    )
  }

  /** True when more data waits than the limits allow. */
  get isDataOverfull(): boolean {
    return this.queuedBytes + this.#transport.bufferedBytes > this.#limits.maxQueuedBytes
  }

  /** True while less waits than what makes writers wait. */
  get hasRoom(): boolean {
    return this.queuedBytes + this.#transport.bufferedBytes < this.#limits.linkHighWaterBytes
  }

  /** Hands a frame to the transport at once: for data whose turn it is, for Pings and Pongs. */
  send(frame: Uint8Array): void {
    this.#sentBytes += frame.length
    this.#transport.send(frame)
  }

  /** A position in what has been sent, for isPast(). */
  get position(): number {
    return this.#sentBytes
  }

  /** True when everything sent up to the position has left the transport's buffer. */
  isPast(position: number): boolean {
    return this.#transport.bufferedBytes <= this.#sentBytes - position
  }

  /** Sends a frame other than data, behind earlier ones and ahead of waiting data. */
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

  /** Gives a channel turns until its sendFrame() says false; a channel must not be added twice. */
  addSource(source: DataSource): void {
    this.#turns ??= []
    this.#turns.push(source)
    this.pump()
  }

  /** Sends what waits, as far as the transport has room. */
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
      } else if (this.#turns !== undefined) {
        this.#takeTurn(this.#turns)
      } else {
        break
      }
    }
    this.#isPumping = false
  }

  /** Hands every waiting frame other than data to the transport, forgets the channels, and sends no more. */
  stop(lastFrame?: Uint8Array): void {
    const control = this.#control
    this.#control = undefined
    this.#turns = undefined
    if (lastFrame !== undefined) {
      for (const frame of control ?? []) this.send(frame)
      this.send(lastFrame)
    }
    this.#isStopped = true
  }

  #takeTurn(turns: (DataSource | undefined)[]): void {
    const source = turns[this.#turn]!
    turns[this.#turn++] = undefined
    if (source.sendFrame()) turns.push(source)
    // The call may have stopped this side for good.
    if (this.#turns !== turns) return
    if (this.#turn === turns.length) {
      this.#turns = undefined
      this.#turn = 0
    } else if (this.#turn >= 64) {
      turns.splice(0, this.#turn)
      this.#turn = 0
    }
  }
}
