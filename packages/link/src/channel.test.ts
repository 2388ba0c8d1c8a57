import { describe, expect, it } from 'vitest'
import type { Channel } from './channel.ts'
import type { Frame } from './frames.ts'
import { connectedLinks } from './testing/memory-transport.ts'
import { RawPeer, serve } from './testing/raw-peer.ts'

const none = new Uint8Array(0)
const bytes = (length: number, value = 1): Uint8Array => new Uint8Array(length).fill(value)
const lengths = (frames: Frame[]): number[] =>
  frames.flatMap(frame => (frame.type === 'ChannelData' ? [frame.payload.length] : []))

const end = (peer: RawPeer): void => peer.send({ type: 'ChannelClosed', receiverId: 1, reason: none })
const stop = (peer: RawPeer): void => peer.send({ type: 'ChannelClose', receiverId: 1, reason: none })

describe('reading', () => {
  it('returns the data in order, then undefined, then null at the end', () => {
    const [peer, channel] = serve()
    expect(channel.tryRead()).toBeUndefined()
    peer.sendData(1, Uint8Array.of(1, 2))
    peer.sendData(1, bytes(3000, 3))
    peer.sendData(1, Uint8Array.of(4))
    expect(channel.tryRead()).toEqual(Uint8Array.of(1, 2))
    expect(channel.tryRead()).toEqual(bytes(3000, 3))
    end(peer)
    expect(channel.tryRead()).toEqual(Uint8Array.of(4))
    expect(channel.tryRead()).toBeNull()
    expect(channel.tryRead()).toBeNull()
    expect(channel.isTruncated).toBe(false)
  })

  it('waits in read() for bytes and for the end, one read at a time', async () => {
    const [peer, channel] = serve()
    const first = channel.read()
    await expect(channel.read()).rejects.toThrow('another read')
    peer.sendData(1, Uint8Array.of(1))
    expect(await first).toEqual(Uint8Array.of(1))
    peer.sendData(1, Uint8Array.of(2))
    expect(await channel.read()).toEqual(Uint8Array.of(2))
    const last = channel.read()
    end(peer)
    end(peer)
    expect(await last).toBeNull()
    expect(await channel.read()).toBeNull()
  })

  it('calls onReadable for each arrival and for the end', () => {
    const [peer, channel] = serve()
    const seen: unknown[] = []
    channel.onReadable = () => seen.push(channel.tryRead())
    expect(channel.onReadable).toBeDefined()
    peer.sendData(1, Uint8Array.of(1))
    peer.sendData(1, Uint8Array.of(2))
    end(peer)
    expect(seen).toEqual([Uint8Array.of(1), Uint8Array.of(2), null])
  })

  it('calls onReadable even while earlier bytes are unread', () => {
    const [peer, channel] = serve()
    let calls = 0
    channel.onReadable = () => calls++
    peer.sendData(1, Uint8Array.of(1))
    peer.sendData(1, Uint8Array.of(2))
    expect(calls).toBe(2)
    expect(channel.tryRead()).toEqual(Uint8Array.of(1, 2))
  })

  it('reports truncated data after the received bytes when the link ends', async () => {
    const [peer, channel] = serve()
    peer.sendData(1, Uint8Array.of(1))
    peer.link.transportClosed('gone')
    expect(channel.isTruncated).toBe(true)
    expect(await channel.read()).toEqual(Uint8Array.of(1))
    await expect(channel.read()).rejects.toThrow('link ended: TransportClosed: gone')
    expect(channel.tryRead()).toBeNull()
    const [other, waiting] = serve()
    const read = waiting.read()
    other.link.close()
    await expect(read).rejects.toThrow('link ended: LocalClose')
  })

  it('is complete when the link ends after the end of the data', async () => {
    const [peer, channel] = serve()
    peer.sendData(1, Uint8Array.of(1))
    end(peer)
    peer.link.transportClosed()
    expect(channel.isTruncated).toBe(false)
    expect(await channel.read()).toEqual(Uint8Array.of(1))
    expect(await channel.read()).toBeNull()
  })

  it('can iterate, and stops reading when the loop is left', async () => {
    const [peer, channel] = serve()
    peer.sendData(1, Uint8Array.of(1))
    const pieces: Uint8Array[] = []
    const loop = (async () => {
      for await (const piece of channel) {
        pieces.push(piece)
        peer.sendData(1, Uint8Array.of(2))
        if (pieces.length === 2) break
      }
    })()
    await loop
    expect(pieces).toEqual([Uint8Array.of(1), Uint8Array.of(2)])
    expect(peer.sentTypes()).toEqual(['ChannelClose'])
    const [other, ended] = serve()
    end(other)
    for await (const piece of ended) pieces.push(piece)
    expect(pieces).toHaveLength(2)
    expect(other.sent()).toEqual([])
  })

  it('drops unread bytes after stopReading(), returns null, and grants no more credit', async () => {
    const [peer, channel] = serve()
    const waiting = channel.read()
    channel.stopReading()
    channel.stopReading()
    expect(await waiting).toBeNull()
    expect(channel.tryRead()).toBeNull()
    expect(peer.sentTypes()).toEqual(['ChannelClose'])
    peer.sendData(1, bytes(16_384))
    expect(channel.tryRead()).toBeNull()
    expect(peer.sent()).toEqual([])
    expect(peer.link.isOpen).toBe(true)
    peer.sendData(1, bytes(1))
    expect(peer.link.end).toEqual({ kind: 'Violation', reason: 'credit exceeded' })
  })

  it('closes the channel, not the link, when a hook throws', () => {
    const errors: unknown[] = []
    const [peer, channel] = serve({ onError: error => errors.push(error) })
    channel.onReadable = () => {
      throw new Error('bug')
    }
    peer.sendData(1, Uint8Array.of(1))
    expect(errors).toEqual([new Error('bug')])
    expect(peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    expect(peer.link.isOpen).toBe(true)
    expect(peer.link.channelCount).toBe(0)
  })
})

describe('writing', () => {
  it('sends within credit at once, and the rest when credit arrives', () => {
    const [peer, channel] = serve({}, { frames: 3, bytes: 1000 })
    expect(channel.tryWrite(bytes(400))).toBe(true)
    expect(lengths(peer.sent())).toEqual([400])
    expect(channel.tryWrite(bytes(700))).toBe(true)
    expect(lengths(peer.sent())).toEqual([600])
    expect(channel.queuedBytes).toBe(100)
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 50 })
    expect(lengths(peer.sent())).toEqual([50])
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 50 })
    expect(peer.sent()).toEqual([])
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 0 })
    expect(lengths(peer.sent())).toEqual([50])
    expect(channel.queuedBytes).toBe(0)
  })

  it('merges small queued writes into one frame', () => {
    const [peer, channel] = serve({}, { frames: 0, bytes: 10_000 })
    for (let i = 0; i < 100; i++) channel.tryWrite(Uint8Array.of(i))
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 0 })
    expect(peer.sent()).toMatchObject([
      { payload: Buffer.from(Uint8Array.from({ length: 100 }, (_, i) => i)) },
    ])
  })

  it('resolves write() at once below the high-water mark, and above it when half was sent', async () => {
    const [peer, channel] = serve({ limits: { channelHighWaterBytes: 1000 } }, { frames: 100, bytes: 0 })
    await channel.write(bytes(900))
    await channel.write(none)
    let isDone = false
    const waiting = channel.write(bytes(200)).then(() => {
      isDone = true
    })
    const another = channel.write(bytes(10))
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 600 })
    await Promise.resolve()
    expect(isDone).toBe(false)
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 100 })
    await Promise.all([waiting, another])
    expect(channel.queuedBytes).toBe(410)
  })

  it('calls onWritable once after tryWrite() returned false', () => {
    const [peer, channel] = serve({ limits: { channelHighWaterBytes: 100 } }, { frames: 100, bytes: 0 })
    let calls = 0
    channel.onWritable = () => calls++
    expect(channel.onWritable).toBeDefined()
    expect(channel.tryWrite(bytes(99))).toBe(true)
    expect(channel.tryWrite(bytes(1))).toBe(false)
    expect(channel.tryWrite(none)).toBe(false)
    for (let i = 0; i < 10; i++) {
      peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 10 })
    }
    expect(calls).toBe(1)
    expect(channel.queuedBytes).toBe(0)
    expect(channel.tryWrite(none)).toBe(true)
  })

  it('can write from onWritable without recursion', () => {
    const credit = { frames: 5000, bytes: 0 }
    const [peer, channel] = serve({ limits: { channelHighWaterBytes: 100 } }, credit, 'Current')
    let written = 200
    channel.onWritable = () => {
      while (written < 100_000) {
        written += 150
        if (!channel.tryWrite(bytes(150))) return
      }
      channel.end()
    }
    channel.tryWrite(bytes(200))
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 200_000 })
    const frames = peer.sentAll()
    expect(lengths(frames).reduce((sum, length) => sum + length, 0)).toBe(written)
    expect(frames.at(-1)?.type).toBe('ChannelClosed')
  })

  it('fails after end(), after the peer stopped reading, or after the link ended', async () => {
    const [, ended] = serve()
    ended.end()
    ended.end()
    expect(ended.canWrite).toBe(false)
    expect(ended.tryWrite(bytes(1))).toBe(false)
    await expect(ended.write(bytes(1))).rejects.toThrow('the channel was ended')
    const [peer, stopped] = serve({ limits: { channelHighWaterBytes: 10 } }, { frames: 0, bytes: 0 })
    const waiting = stopped.write(bytes(20))
    let calls = 0
    stopped.onWritable = () => calls++
    stop(peer)
    stop(peer)
    await expect(waiting).rejects.toThrow('the peer reads no more')
    await expect(stopped.write(bytes(1))).rejects.toThrow('the peer reads no more')
    expect(calls).toBe(1)
    const [lost, broken] = serve({ limits: { channelHighWaterBytes: 10 } }, { frames: 0, bytes: 0 })
    const lostWrite = broken.write(bytes(20))
    lost.link.transportClosed('gone')
    await expect(lostWrite).rejects.toThrow('link ended: TransportClosed: gone')
    await expect(broken.write(bytes(1))).rejects.toMatchObject({
      name: 'ChannelClosedError',
      cause: { name: 'LinkEndedError', end: { kind: 'TransportClosed' } },
    })
    expect(broken.queuedBytes).toBe(0)
  })

  it('ends the link as ConsumerTooSlow when writers ignore back-pressure', async () => {
    const [peer, channel] = serve({ limits: { maxQueuedBytes: 100_000 } })
    let writes = 0
    while (peer.link.isOpen && writes < 1000) {
      channel.tryWrite(bytes(1000))
      writes++
    }
    expect(peer.link.end).toEqual({ kind: 'ConsumerTooSlow', reason: 'outgoing queue limit exceeded' })
    expect(writes).toBeLessThan(102)
    expect(peer.sent().at(-1)).toMatchObject({ type: 'Close' })
    expect(peer.transport.closed).toBe('Graceful')
    const [other, obedient] = serve({ limits: { maxQueuedBytes: 100_000 } })
    const write = obedient.write(bytes(1_000_000))
    expect(other.link.isOpen).toBe(true)
    const against = obedient.write(bytes(1))
    expect(other.link.end?.kind).toBe('ConsumerTooSlow')
    await expect(write).rejects.toThrow('ConsumerTooSlow')
    await expect(against).rejects.toThrow('ConsumerTooSlow')
  })
})

describe('ends', () => {
  it('are independent: data flows in one direction after the other has ended', () => {
    const [peer, channel] = serve()
    channel.end()
    peer.sendData(1, Uint8Array.of(1))
    expect(channel.tryRead()).toEqual(Uint8Array.of(1))
    expect(peer.sentTypes()).toEqual(['ChannelClosed'])
    const [other, half] = serve()
    end(other)
    expect(half.tryRead()).toBeNull()
    half.tryWrite(bytes(3))
    expect(lengths(other.sent())).toEqual([3])
    expect(other.link.channelCount).toBe(1)
  })

  it('send ChannelClosed behind all queued data', () => {
    const [peer, channel] = serve({}, { frames: 10, bytes: 10 }, 'Current')
    channel.tryWrite(bytes(25))
    channel.end()
    expect(peer.sentTypes()).toEqual(['ChannelData'])
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 100 })
    expect(peer.sentTypes()).toEqual(['ChannelData', 'ChannelClosed'])
  })

  it('close() drops queued and unread data and sends both end frames', async () => {
    const [peer, channel] = serve({ limits: { channelHighWaterBytes: 10 } }, { frames: 10, bytes: 10 })
    const { closed } = channel
    const write = channel.write(bytes(50))
    peer.sendData(1, bytes(3))
    peer.sent()
    channel.close()
    channel.close()
    channel.stopReading()
    channel.end()
    expect(peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    await expect(write).rejects.toThrow('the channel was ended')
    expect(channel.tryRead()).toBeNull()
    await closed
    await channel.closed
    expect(peer.link.channelCount).toBe(0)
  })

  it('close() sends the missing end frame after a half-close', () => {
    const [peer, channel] = serve()
    channel.stopReading()
    channel.close()
    expect(peer.sentTypes()).toEqual(['ChannelClose', 'ChannelClosed'])
    const [other, read] = serve()
    end(other)
    expect(read.tryRead()).toBeNull()
    read.close()
    expect(other.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    expect(other.link.channelCount).toBe(0)
  })

  it('keep the channel open until the end of data was read', () => {
    const [peer, channel] = serve()
    peer.sendData(1, bytes(3))
    end(peer)
    channel.end()
    expect(peer.link.channelCount).toBe(1)
    channel.tryRead()
    expect(peer.link.channelCount).toBe(1)
    expect(channel.tryRead()).toBeNull()
    expect(peer.link.channelCount).toBe(0)
  })

  it('tolerate data in flight within the old credit', () => {
    const [peer, channel] = serve()
    peer.sendData(1, bytes(384))
    channel.close()
    for (let i = 0; i < 200; i++) {
      peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 1 })
    }
    for (let i = 0; i < 100; i++) peer.sendData(1, bytes(160))
    end(peer)
    stop(peer)
    expect(peer.link.isOpen).toBe(true)
    peer.sendData(1, bytes(1))
    expect(peer.link.end).toEqual({ kind: 'Violation', reason: 'late data exceeds credit' })
  })

  it('are forgotten after half a minute, and the oldest of more than 256 sooner', () => {
    const flood = new RawPeer({
      limits: { requestsPerSecond: 1000, unknownFramesPerSecond: 0 },
      onRequest: request => request.accept().close(),
    })
    for (let i = 1; i <= 257; i++) flood.request(i, 'x')
    flood.sendData(2, bytes(1))
    expect(flood.link.isOpen).toBe(true)
    flood.sendData(1, bytes(1))
    expect(flood.link.end).toEqual({ kind: 'Violation', reason: 'too many frames for unknown channels' })
    const [late, channel] = serve({ limits: { unknownFramesPerSecond: 0 } })
    channel.close()
    for (let i = 0; i < 8; i++) {
      end(late)
      late.clock.advance(5000)
      late.send({ type: 'Pong' })
    }
    end(late)
    expect(late.link.end?.kind).toBe('Violation')
  })

  it('of the link close its channels and resolve `closed`', async () => {
    const [peer, channel] = serve()
    const { closed } = channel
    peer.link.close()
    await closed
    await channel.closed
    channel.close()
    channel.end()
    channel.stopReading()
    expect(channel.hasPeerStopped).toBe(false)
    expect(peer.sentTypes()).toEqual(['Close'])
  })
})

describe('hooks', () => {
  it('may end the link while its channels send', () => {
    const [peer, channel] = serve({ limits: { channelHighWaterBytes: 100 } }, { frames: 100, bytes: 0 })
    channel.onWritable = () => peer.link.close('enough')
    channel.tryWrite(bytes(200))
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 190 })
    expect(peer.sentTypes()).toEqual(['ChannelData', 'Close'])
    expect(peer.link.end?.kind).toBe('LocalClose')
  })

  it('may close other channels while the link ends', () => {
    const channels: Channel[] = []
    const peer = new RawPeer({ onRequest: request => channels.push(request.accept()) })
    peer.request(1, 'x')
    peer.request(2, 'x')
    peer.sent()
    for (const channel of channels) {
      channel.onReadable = () => {
        for (const each of channels) each.close()
      }
    }
    peer.link.transportClosed()
    for (const channel of channels) expect(channel.tryRead()).toBeNull()
    expect(peer.sent()).toEqual([])
  })

  it('may write to other channels while one sends', () => {
    const channels: Channel[] = []
    const peer = new RawPeer({
      limits: { channelHighWaterBytes: 100 },
      onRequest: request => channels.push(request.accept()),
    })
    peer.request(1, 'x', { frames: 100, bytes: 0 })
    peer.request(2, 'x', { frames: 100, bytes: 100_000 })
    peer.sent()
    const [first, second] = channels
    if (first === undefined || second === undefined) throw new Error('no channels')
    first.onWritable = () => second.tryWrite(bytes(40_000))
    first.tryWrite(bytes(200))
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 200 })
    expect(lengths(peer.sentAll())).toEqual([200, 16_367, 16_367, 7266])
  })

  it('may close the channel while it sends', () => {
    const [peer, channel] = serve({ limits: { channelHighWaterBytes: 100 } }, { frames: 100, bytes: 0 })
    channel.onWritable = () => channel.close()
    channel.tryWrite(bytes(200))
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 190 })
    expect(peer.sentTypes()).toEqual(['ChannelData', 'ChannelClosed', 'ChannelClose'])
    expect(peer.link.channelCount).toBe(0)
  })
})

describe('several channels', () => {
  it('send in rotation when the transport is full, after frames other than data', async () => {
    const far: Channel[] = []
    const pair = connectedLinks({ isManual: true, b: { onRequest: request => far.push(request.accept()) } })
    const opening = [0, 1, 2].map(() => pair.a.open('x'))
    pair.transports.flush()
    const near = await Promise.all(opening)
    const received: number[] = []
    far.forEach((channel, index) => {
      channel.onReadable = () => {
        while (channel.tryRead()) received.push(index)
      }
    })
    // Lets the windows grow, so that only the transport limits the rate.
    for (let i = 0; i < 40; i++) {
      for (const channel of near) channel.tryWrite(bytes(60_000))
      pair.transports.flush()
    }
    received.length = 0
    for (const channel of near) channel.tryWrite(bytes(512 * 1024))
    const request = pair.a.open('y')
    expect(pair.transports.a.bufferedBytes).toBeLessThan(150_000)
    pair.transports.flush()
    await request
    expect(received.length).toBeGreaterThanOrEqual(96)
    const turns = received.slice(9, 75)
    for (let i = 3; i < turns.length; i++) expect(new Set(turns.slice(i - 3, i)).size).toBe(3)
  })
})

describe('a channel to another node', () => {
  const node = { isPeerNode: true }
  const abort = (peer: RawPeer): void =>
    peer.send({ type: 'ChannelClosed', receiverId: 1, reason: Buffer.from('aborted') })

  it('is truncated when the peer aborts it, also after this side has ended its data', async () => {
    const [peer, channel] = serve(node)
    channel.end()
    peer.sendData(1, Uint8Array.of(1))
    abort(peer)
    end(peer)
    peer.sendData(1, Uint8Array.of(2))
    expect(await channel.read()).toEqual(Uint8Array.of(1))
    await expect(channel.read()).rejects.toThrow('the peer aborted the channel')
    expect(channel.tryRead()).toBeNull()
    expect(channel.isTruncated).toBe(true)
    await channel.closed
    expect(peer.link.channelCount).toBe(0)
    expect(peer.link.isOpen).toBe(true)
  })

  it('fails a waiting read when it is aborted', async () => {
    const [peer, channel] = serve(node)
    const reading = channel.read()
    stop(peer)
    abort(peer)
    await expect(reading).rejects.toThrow('the peer aborted the channel')
    expect(channel.canWrite).toBe(false)
  })

  it('tells the peer when this side aborts it, which no other peer is told', () => {
    for (const [options, reason] of [
      [node, 'aborted'],
      [{}, ''],
    ] as const) {
      const [peer, channel] = serve(options)
      channel.abort()
      channel.abort()
      expect(peer.sent()).toEqual([
        { type: 'ChannelClose', receiverId: 5, reason: Buffer.alloc(0) },
        { type: 'ChannelClosed', receiverId: 5, reason: Buffer.from(reason) },
      ])
    }
  })

  it('is complete when the peer ends its data first, and ends at once', async () => {
    const [peer, channel] = serve(node)
    channel.tryWrite(Uint8Array.of(3))
    channel.end()
    expect(peer.sentTypes()).toEqual(['ChannelData', 'ChannelClosed'])
    peer.sendData(1, Uint8Array.of(1))
    end(peer)
    stop(peer)
    expect(await channel.read()).toEqual(Uint8Array.of(1))
    expect(await channel.read()).toBeNull()
    expect(channel.isTruncated).toBe(false)
    expect(peer.link.peerAge).toBe('Current')
  })
})
