import { emptyBytes } from '../bytes.ts'
import type { Channel } from '../channel.ts'
import { decodeFrame, encodeFrame, FRAME, type Frame, MAGIC } from '../frames.ts'
import { Link } from '../link.ts'
import type { LinkOptions } from '../link-options.ts'
import type { PeerAge } from '../peer-age.ts'
import { ManualClock } from './manual-clock.ts'
import { MemoryTransport, PROBE } from './memory-transport.ts'

/** The Hello that every known peer sends. */
export const HELLO: Frame = { type: 'Hello', magic: MAGIC, info: emptyBytes() }

/** A link under test on a manual clock. The test itself is the peer and sends each frame. */
export class RawPeer {
  readonly clock = new ManualClock()
  readonly transport = new MemoryTransport()
  readonly link: Link
  /** Number of probes of the transport that sent() has seen. */
  probes = 0

  /** Makes the link. Unless `sayHello` is false, both Hellos are exchanged. */
  constructor(options: LinkOptions = {}, sayHello = true) {
    this.link = new Link(this.transport, { clock: this.clock, ...options })
    if (!sayHello) return
    this.sent()
    this.send(HELLO)
  }

  /** Passes frames of the peer to the link. */
  send(...frames: Frame[]): void {
    for (const frame of frames) this.link.receive(encodeFrame(frame))
  }

  /** Passes data for one of the link's channels. */
  sendData(receiverId: number, payload: Uint8Array): void {
    this.send({ type: 'ChannelData', receiverId, payload })
  }

  /** Requests a channel from the link. */
  request(senderId: number, endpoint: string | Uint8Array, credit?: { frames: number; bytes: number }): void {
    this.send({
      type: 'ChannelRequest',
      senderId,
      frameCredit: credit?.frames ?? FRAME.initialFrameCredit,
      byteCredit: credit?.bytes ?? FRAME.initialByteCredit,
      endpoint: Buffer.from(endpoint),
    })
  }

  /** Accepts a channel that the link requested. */
  accept(receiverId: number, senderId: number, credit?: { frames: number; bytes: number }): void {
    this.send({
      type: 'ChannelAccept',
      receiverId,
      senderId,
      frameCredit: credit?.frames ?? FRAME.initialFrameCredit,
      byteCredit: credit?.bytes ?? FRAME.initialByteCredit,
    })
  }

  /** Returns the frames that the link sent since the last call. These frames then count as delivered. */
  sent(): Frame[] {
    const messages = this.transport.take()
    this.link.drained()
    const frames = messages.filter(message => message !== PROBE)
    this.probes += messages.length - frames.length
    return frames.map(message => decodeFrame(message))
  }

  /** Calls sent() until it returns no frames. Returns all frames. */
  sentAll(): Frame[] {
    const all: Frame[] = []
    for (let frames = this.sent(); frames.length > 0; frames = this.sent()) all.push(...frames)
    return all
  }

  /** Calls sent() and returns the types of the frames. */
  sentTypes(): string[] {
    return this.sent().map(frame => frame.type)
  }
}

/**
 * Returns a peer and a channel that this peer opened. The channel has id 5 at the peer and id 1 at the link. With `age` the
 * link already knows the generation of the peer (`PeerAge`). A legacy peer has answered the link's first Ping, 5 s after the Hello.
 */
export function serve(
  options: LinkOptions = {},
  credit?: { frames: number; bytes: number },
  age: PeerAge = 'Unknown',
): [RawPeer, Channel] {
  let channel: Channel | undefined
  const peer = new RawPeer({
    ...options,
    onRequest: request => {
      channel = request.accept()
    },
  })
  if (age === 'Current') peer.clock.advance(3100)
  if (age !== 'Unknown') peer.send({ type: 'Ping' })
  if (age === 'Legacy') {
    peer.clock.advance(5000)
    peer.send({ type: 'Pong' })
    peer.clock.advance(300)
  }
  peer.request(5, 'x', credit)
  peer.sent()
  if (channel === undefined) throw new Error('no channel')
  return [peer, channel]
}
