import { ChannelRejectedError, decodeFrame } from '@muster/link'
import { type FirstPing, type LegacyChannel, LegacyPeer } from '@muster/link/testing'
import type { WebSocket } from 'ws'
import type { Peer, PeerChannel, PeerEnd, PeerRequest } from './peer.ts'

/** Pause of a published client between a Pong and its next Ping (docs/protocol.md 2.9), in milliseconds. */
const PING_MS = 5_000

/**
 * Simulates the link of a published Nexigon client of 2025 over a real WebSocket. It sends Hello and Ping immediately, in the order
 * of `firstPing`. It ignores text messages, does not check the magic of Hello, never times out, and crashes on the frames that
 * crashed the real clients.
 */
export function peer2025(
  { webSocket, early }: { webSocket: WebSocket; early: [Buffer, boolean][] },
  onRequest: (request: PeerRequest) => void = () => {},
  firstPing?: FirstPing,
): Peer {
  const legacy = new LegacyPeer(firstPing)
  const ended = Promise.withResolvers<PeerEnd>()
  const channels = new Map<LegacyChannel, StreamOf2025>()
  const opening = new Map<LegacyChannel, PromiseWithResolvers<PeerChannel>>()
  let pingTimer: NodeJS.Timeout | undefined
  let isOver = false

  function flush(): void {
    for (const frame of legacy.sent.splice(0))
      if (webSocket.readyState === webSocket.OPEN) webSocket.send(frame)
  }
  function finish(end: PeerEnd): void {
    if (isOver) return
    isOver = true
    clearTimeout(pingTimer)
    webSocket.terminate()
    for (const { reject } of opening.values()) reject(new Error(end.reason))
    for (const stream of channels.values()) stream.linkEnded()
    ended.resolve(end)
  }
  const panic = (reason: string): void => finish({ how: 'Panic', reason })
  function streamOf(channel: LegacyChannel): StreamOf2025 {
    const stream = new StreamOf2025(legacy, channel, flush)
    channels.set(channel, stream)
    return stream
  }

  function receive(message: Uint8Array): void {
    const frame = decodeFrame(message)
    if (frame.type === 'Close') {
      finish({ how: 'Close', reason: Buffer.from(frame.reason).toString() })
      return
    }
    if (frame.type === 'Pong') {
      pingTimer = setTimeout(() => webSocket.send(Uint8Array.of(0x20)), PING_MS)
      return
    }
    if (frame.type === 'ChannelReject') {
      const channel = legacy.channels.get(frame.receiverId)
      const opened = channel && opening.get(channel)
      if (!opened) throw new Error('reject without request')
      legacy.channels.delete(frame.receiverId)
      opening.delete(channel)
      opened.reject(new ChannelRejectedError(Buffer.from(frame.reason).toString()))
      return
    }
    legacy.receive(message)
    if (frame.type === 'ChannelRequest') {
      // A client of 2025 accepts a channel request before it reads the endpoint.
      const channel = [...legacy.channels.values()].at(-1)!
      const endpoint = Buffer.from(frame.endpoint).toString()
      onRequest({
        endpoint,
        accept: () => streamOf(channel),
        reject: () => panic(`unknown endpoint ${endpoint}`),
      })
    }
    for (const [channel, opened] of opening) {
      if (!channel.isAccepted) continue
      opening.delete(channel)
      opened.resolve(streamOf(channel))
    }
    for (const stream of channels.values()) stream.changed()
  }
  function onMessage(data: Buffer, isBinary: boolean): void {
    if (isOver || !isBinary) return
    try {
      receive(data)
      flush()
    } catch (error) {
      panic(String(error))
    }
  }
  for (const [data, isBinary] of early) onMessage(data, isBinary)
  webSocket.on('message', onMessage)
  webSocket.on('error', () => {})
  webSocket.on('close', code => finish({ how: 'Bare', reason: `closed with ${code}` }))
  flush()

  return {
    ended: ended.promise,
    drop: () => webSocket.terminate(),
    panic,
    open(endpoint) {
      const opened = Promise.withResolvers<PeerChannel>()
      opening.set(legacy.open(endpoint), opened)
      flush()
      return opened.promise
    },
    async [Symbol.asyncDispose]() {
      webSocket.terminate()
      await ended.promise
    },
  }
}

/** A channel of a published client of 2025. When the hub's ChannelClosed arrives, unread data is lost (docs/protocol.md 2.7). */
class StreamOf2025 implements PeerChannel {
  readonly #legacy: LegacyPeer
  readonly #channel: LegacyChannel
  readonly #flush: () => void
  #waiting: (() => void)[] = []
  #isOver = false

  constructor(legacy: LegacyPeer, channel: LegacyChannel, flush: () => void) {
    this.#legacy = legacy
    this.#channel = channel
    this.#flush = flush
  }

  get queuedBytes(): number {
    return this.#isOver ? 0 : this.#channel.outbox.length
  }

  async read(): Promise<Uint8Array | null> {
    for (;;) {
      const bytes = this.#legacy.read(this.#channel)
      this.#flush()
      if (bytes) return bytes
      if (this.#channel.hasPeerEnded || this.#isOver) return null
      await this.#change()
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#legacy.write(this.#channel, Buffer.from(bytes))
    this.#flush()
    while (this.#channel.outbox.length > 0) {
      if (this.#channel.hasPeerStopped || this.#isOver) throw new Error('broken pipe')
      await this.#change()
    }
  }

  end(): void {
    if (this.#isOver) return
    this.#legacy.end(this.#channel)
    this.#flush()
  }

  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#legacy.drop(this.#channel)
    this.#flush()
    this.changed()
  }

  changed(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  linkEnded(): void {
    this.#isOver = true
    this.changed()
  }

  #change(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }
}
