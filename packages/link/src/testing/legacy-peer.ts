import { emptyBytes } from '../bytes.ts'
import { decodeFrame, encodeFrame, FRAME, type Frame } from '../frames.ts'
import { HELLO } from './raw-peer.ts'

/**
 * Order of a legacy peer's first Ping and its first channel request. With real legacy peers this order is random (docs/protocol.md
 * 1.7).
 */
export type FirstPing = 'BeforeRequest' | 'AfterRequest'

/** The LegacyPeer's side of a channel. */
export interface LegacyChannel {
  readonly localId: number
  remoteId: number
  /** Bytes queued to be sent on this channel. */
  outbox: Buffer
  sendFrames: number
  sendBytes: number
  /** Frames received and not read yet. */
  readonly inbox: Uint8Array[]
  leftFrames: number
  leftBytes: number
  maxFrames: number
  maxBytes: number
  isAccepted: boolean
  hasEnded: boolean
  hasPeerEnded: boolean
  hasPeerStopped: boolean
}

/**
 * A peer that behaves like published Nexigon clients from before 2026-07-27 (docs/protocol.md 2.5 to 2.9). It assumes a fixed credit at
 * first, whatever the other side advertises, and sends nothing below 512 bytes of credit. It charges its window when data is read and
 * discards unread data when ChannelClosed arrives. It sends only ChannelClose when it drops a channel.
 */
export class LegacyPeer {
  /** Encoded frames for the other side. */
  readonly sent: Uint8Array[] = []
  readonly channels = new Map<number, LegacyChannel>()
  /** Number of unread bytes that were discarded because ChannelClosed arrived too soon. */
  discardedBytes = 0
  #nextId = 1
  #owesPing = false

  constructor(firstPing: FirstPing = 'BeforeRequest') {
    this.#send(HELLO)
    if (firstPing === 'BeforeRequest') this.#send({ type: 'Ping' })
    else this.#owesPing = true
  }

  /** Requests a channel. */
  open(endpoint: string): LegacyChannel {
    const channel = this.#add(0)
    this.#send({
      type: 'ChannelRequest',
      senderId: channel.localId,
      frameCredit: FRAME.initialFrameCredit,
      byteCredit: FRAME.initialByteCredit,
      endpoint: Buffer.from(endpoint),
    })
    if (this.#owesPing) this.#send({ type: 'Ping' })
    this.#owesPing = false
    return channel
  }

  /** Queues bytes and sends them as credit allows. */
  write(channel: LegacyChannel, bytes: Uint8Array): void {
    channel.outbox = Buffer.concat([channel.outbox, bytes])
    this.#pump(channel)
  }

  /** Reads one frame's payload. Returns undefined when none has arrived. */
  read(channel: LegacyChannel): Uint8Array | undefined {
    const payload = channel.inbox.shift()
    if (payload === undefined) return undefined
    channel.leftFrames--
    channel.leftBytes -= payload.length
    if (channel.leftFrames < 0 || channel.leftBytes < 0) throw new Error('attempt to subtract with overflow')
    if (channel.leftFrames * 2 < channel.maxFrames || channel.leftBytes * 2 < channel.maxBytes) {
      const frameCredit = channel.maxFrames - channel.leftFrames
      const byteCredit = channel.maxBytes - channel.leftBytes
      channel.leftFrames = channel.maxFrames
      channel.leftBytes = channel.maxBytes
      this.#send({ type: 'ChannelAdjust', receiverId: channel.remoteId, frameCredit, byteCredit })
    }
    return payload
  }

  /** Ends this side's data. All queued data must have been sent before. */
  end(channel: LegacyChannel): void {
    channel.hasEnded = true
    this.#send({ type: 'ChannelClosed', receiverId: channel.remoteId, reason: emptyBytes() })
  }

  /** Drops the channel and sends only ChannelClose. */
  drop(channel: LegacyChannel): void {
    this.channels.delete(channel.localId)
    this.#send({ type: 'ChannelClose', receiverId: channel.remoteId, reason: emptyBytes() })
  }

  /** Handles a message. Throws where a real peer would end the connection or panic. */
  receive(message: Uint8Array): void {
    const frame = decodeFrame(message)
    switch (frame.type) {
      case 'Ping':
        this.#send({ type: 'Pong' })
        break
      case 'ChannelRequest': {
        const channel = this.#add(frame.senderId)
        channel.isAccepted = true
        this.#send({
          type: 'ChannelAccept',
          receiverId: frame.senderId,
          senderId: channel.localId,
          frameCredit: FRAME.initialFrameCredit,
          byteCredit: FRAME.initialByteCredit,
        })
        break
      }
      case 'ChannelAccept': {
        const channel = this.channels.get(frame.receiverId)
        if (channel === undefined || channel.isAccepted) throw new Error('accept without request')
        channel.remoteId = frame.senderId
        channel.isAccepted = true
        this.#pump(channel)
        break
      }
      case 'ChannelData':
        this.#receiveData(frame.receiverId, frame.payload)
        break
      case 'ChannelAdjust': {
        const channel = this.channels.get(frame.receiverId)
        if (channel === undefined) break
        channel.sendFrames += frame.frameCredit
        channel.sendBytes += frame.byteCredit
        if (Math.max(channel.sendFrames, channel.sendBytes) > FRAME.maxCredit) throw new Error('panic')
        this.#pump(channel)
        break
      }
      case 'ChannelClosed': {
        const channel = this.channels.get(frame.receiverId)
        if (channel === undefined) break
        channel.hasPeerEnded = true
        for (const payload of channel.inbox.splice(0)) this.discardedBytes += payload.length
        break
      }
      case 'ChannelClose': {
        const channel = this.channels.get(frame.receiverId)
        if (channel !== undefined) channel.hasPeerStopped = true
        break
      }
      default:
    }
  }

  #add(remoteId: number): LegacyChannel {
    const channel: LegacyChannel = {
      localId: this.#nextId++,
      remoteId,
      outbox: Buffer.alloc(0),
      sendFrames: 128,
      sendBytes: 16_384,
      inbox: [],
      leftFrames: 128,
      leftBytes: 16_384,
      maxFrames: 128,
      maxBytes: 16_384,
      isAccepted: false,
      hasEnded: false,
      hasPeerEnded: false,
      hasPeerStopped: false,
    }
    this.channels.set(channel.localId, channel)
    return channel
  }

  #receiveData(localId: number, payload: Uint8Array): void {
    const channel = this.channels.get(localId)
    if (channel === undefined) return
    if (payload.length === 0) throw new Error('an empty read looks like the end')
    if (channel.leftFrames < 1 || channel.leftBytes < payload.length) throw new Error('credit exceeded')
    channel.inbox.push(payload)
  }

  #pump(channel: LegacyChannel): void {
    while (channel.isAccepted && channel.outbox.length > 0 && channel.sendFrames > 0) {
      if (channel.sendBytes < 512 || channel.hasPeerStopped) return
      const length = Math.min(channel.sendBytes, channel.outbox.length)
      const payload = channel.outbox.subarray(0, length)
      channel.outbox = channel.outbox.subarray(length)
      channel.sendFrames--
      channel.sendBytes -= length
      this.#send({ type: 'ChannelData', receiverId: channel.remoteId, payload })
    }
  }

  #send(...frames: Frame[]): void {
    for (const frame of frames) this.sent.push(encodeFrame(frame))
  }
}
