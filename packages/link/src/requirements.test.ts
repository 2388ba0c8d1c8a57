import { describe, expect, it } from 'vitest'
import type { Channel } from './channel.ts'
import { decodeFrame, type Frame } from './frames.ts'
import { Link } from './link.ts'
import { ManualClock } from './testing/manual-clock.ts'
import { connectedLinks, MemoryTransport } from './testing/memory-transport.ts'
import { HELLO, RawPeer, serve } from './testing/raw-peer.ts'

// Tests of the numbered requirements of docs/protocol.md. The tests of executors (docs/protocol.md) and of opens
// (docs/protocol.md R-17) are beside their modules.

const none = new Uint8Array(0)
const bytes = (length: number): Uint8Array => new Uint8Array(length)

const end: Frame = { type: 'ChannelClosed', receiverId: 1, reason: none }
const stop: Frame = { type: 'ChannelClose', receiverId: 1, reason: none }

it('R-5: a text message ends the link, and none is ever sent', () => {
  const peer = new RawPeer()
  peer.link.receiveText()
  expect(peer.link.end).toEqual({ kind: 'Violation', reason: 'text message' })
})

it('R-6: reject reasons are valid UTF-8 of at most 4 KiB', () => {
  const reasons = ['\ud800 lone', 'ä'.repeat(5000), '€'.repeat(2000), 'short']
  const peer = new RawPeer({ onRequest: request => request.reject(reasons.shift() ?? '') })
  for (let id = 1; id <= 4; id++) peer.request(id, 'x')
  const texts = peer.sent().map(frame => {
    if (frame.type !== 'ChannelReject') throw new Error('no reject')
    expect(frame.reason.length).toBeLessThanOrEqual(4096)
    return new TextDecoder('utf-8', { fatal: true }).decode(frame.reason)
  })
  expect(texts).toEqual(['\ufffd lone', 'ä'.repeat(2048), '€'.repeat(1365), 'short'])
})

it('R-7: Hello is the first message, exactly once, and the peer must do the same', () => {
  const transport = new MemoryTransport()
  const link = new Link(transport, { clock: new ManualClock() })
  const [first, ...rest] = transport.take()
  expect(Buffer.from(first ?? none).toString('hex')).toBe(
    `001b1b2e862ccdf49d526de30da7abe18c${Buffer.from('muster/1').toString('hex')}`,
  )
  expect(rest).toEqual([])
  link.receive(Uint8Array.of(0x20))
  expect(link.end?.kind).toBe('Violation')
})

it('R-8: Request and Accept advertise exactly 128 frames and 16384 bytes', () => {
  const peer = new RawPeer({ onRequest: request => void request.accept(), limits: { maxReceiveBytes: 5e6 } })
  void peer.link.open('x')
  peer.request(1, 'y', { frames: 3, bytes: 9 })
  expect(peer.sent()).toMatchObject([
    { type: 'ChannelRequest', frameCredit: 128, byteCredit: 16_384 },
    { type: 'ChannelAccept', frameCredit: 128, byteCredit: 16_384 },
  ])
  peer.accept(1, 1)
})

it('R-9: sends only what both counters allow, in frames of at most 16 KiB', () => {
  const [peer, channel] = serve({}, { frames: 4, bytes: 60_000 })
  channel.tryWrite(bytes(100_000))
  const sizes = peer.sent().map(frame => (frame.type === 'ChannelData' ? frame.payload.length : 0))
  expect(sizes).toEqual([16_367, 16_367, 16_367, 60_000 - 3 * 16_367])
  peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0xffffffff, byteCredit: 10 })
  expect(peer.sent()).toMatchObject([{ payload: Buffer.alloc(10) }])
  peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 0 })
  peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 0 })
  expect(peer.link.end).toEqual({ kind: 'Violation', reason: 'credit overflow' })
  const [other] = serve({}, { frames: 1, bytes: 2 })
  other.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 0xffffffff })
  expect(other.link.end).toEqual({ kind: 'Violation', reason: 'credit overflow' })
})

describe('R-10', () => {
  it('never sends empty data', async () => {
    const [peer, channel] = serve({}, { frames: 5, bytes: 0 }, 'Current')
    channel.tryWrite(none)
    await channel.write(none)
    channel.tryWrite(bytes(3))
    channel.tryWrite(none)
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 9, byteCredit: 3 })
    channel.end()
    expect(peer.sent()).toMatchObject([{ payload: Buffer.alloc(3) }, { type: 'ChannelClosed' }])
  })

  it('ignores empty data, but charges its frame', () => {
    const [peer, channel] = serve()
    let calls = 0
    channel.onReadable = () => calls++
    for (let i = 0; i < 64; i++) peer.sendData(1, none)
    expect(calls).toBe(0)
    expect(channel.tryRead()).toBeUndefined()
    expect(peer.sent()).toEqual([{ type: 'ChannelAdjust', receiverId: 5, frameCredit: 64, byteCredit: 0 }])
  })
})

describe('R-11', () => {
  it('returns credit when half of the window was consumed, and not on arrival of data', () => {
    const [peer, channel] = serve()
    peer.sendData(1, bytes(8191))
    peer.sendData(1, bytes(8193))
    expect(peer.sent()).toEqual([])
    channel.tryRead()
    expect(peer.sent()).toEqual([])
    channel.tryRead()
    expect(peer.sent()).toEqual([
      { type: 'ChannelAdjust', receiverId: 5, frameCredit: 2, byteCredit: 16_384 },
    ])
  })

  it('charges on arrival: more than the credit ends the link', () => {
    const [peer] = serve()
    peer.sendData(1, bytes(16_384))
    peer.sendData(1, bytes(1))
    expect(peer.link.end).toEqual({ kind: 'Violation', reason: 'credit exceeded' })
    const [frames] = serve()
    for (let i = 0; i < 128; i++) frames.sendData(1, bytes(1))
    expect(frames.link.isOpen).toBe(true)
    frames.sendData(1, bytes(1))
    expect(frames.link.end).toEqual({ kind: 'Violation', reason: 'credit exceeded' })
  })

  it('doubles the window of a fast reader, up to 1024 frames and 1 MiB', () => {
    const [peer, channel] = serve()
    channel.onReadable = () => void channel.tryRead()
    let credit = 16_384
    let frames = 128
    for (let i = 0; i < 2000; i++) {
      const length = Math.min(credit, i % 2 === 0 ? 16_384 : 1)
      peer.sendData(1, bytes(length))
      credit -= length
      frames--
      for (const frame of peer.sent()) {
        if (frame.type !== 'ChannelAdjust') continue
        expect(frame.frameCredit + frame.byteCredit).toBeGreaterThan(0)
        credit += frame.byteCredit
        frames += frame.frameCredit
      }
      expect(credit).toBeLessThanOrEqual(1024 * 1024)
      expect(frames).toBeLessThanOrEqual(1024)
    }
    expect(credit).toBeGreaterThan(500_000)
  })

  it('does not grow for a reader slower than two round trips', () => {
    const [peer, channel] = serve()
    for (let i = 0; i < 20; i++) {
      peer.sendData(1, bytes(8192))
      channel.tryRead()
      expect(peer.sent()).toMatchObject([{ frameCredit: 1, byteCredit: 8192 }])
      peer.clock.advance(100)
    }
  })

  it('tolerates an Adjust of 0/0 and sends none', () => {
    const [peer] = serve()
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 0 })
    expect(peer.link.isOpen).toBe(true)
    expect(peer.sent()).toEqual([])
  })
})

describe('R-12', () => {
  it('I7: delays the end after data for old peers by 0.3 s from their Pong', () => {
    const [peer, channel] = serve({}, undefined, 'Legacy')
    expect(peer.link.peerAge).toBe('Legacy')
    channel.tryWrite(bytes(10))
    channel.end()
    expect(peer.transport.bufferedBytes).toBeGreaterThan(0)
    peer.clock.advance(1000)
    // Until the peer answers the Ping, data that was sent before the Ping may still be in buffers.
    expect(peer.sentTypes()).toEqual(['ChannelData', 'Ping'])
    peer.clock.advance(1000)
    expect(peer.sent()).toEqual([])
    peer.send({ type: 'Pong' })
    peer.clock.advance(200)
    expect(peer.sent()).toEqual([])
    peer.clock.advance(100)
    expect(peer.sentTypes()).toEqual(['ChannelClosed'])
    const [fast, soon] = serve({}, undefined, 'Legacy')
    soon.tryWrite(bytes(10))
    fast.clock.advance(5000)
    expect(fast.sentTypes()).toEqual(['ChannelData', 'Ping'])
    fast.send({ type: 'Pong' })
    soon.end()
    fast.clock.advance(200)
    expect(fast.sent()).toEqual([])
    fast.clock.advance(100)
    expect(fast.sentTypes()).toEqual(['ChannelClosed'])
  })

  it('delays the end while the credit shows that an old peer has not read everything', () => {
    const [peer, channel] = serve({}, { frames: 128, bytes: 16_384 }, 'Legacy')
    channel.tryWrite(bytes(16_384))
    channel.end()
    peer.send({ type: 'Pong' })
    peer.clock.advance(5_000)
    expect(peer.sentTypes()).not.toContain('ChannelClosed')
    // This Adjust reopens half of the window. The peer may not have read the other half, but a legacy peer sends no further
    // Adjust after reading it.
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 8_192 })
    peer.clock.advance(600)
    expect(peer.sentTypes()).toContain('ChannelClosed')
  })

  it('ends at once when no data was sent, when the peer stopped reading, and for newer peers', () => {
    const [quiet, silent] = serve({}, undefined, 'Legacy')
    silent.end()
    expect(quiet.sentTypes()).toEqual(['ChannelClosed'])
    const [stopping, stopped] = serve({}, undefined, 'Legacy')
    stopped.tryWrite(bytes(10))
    stopped.end()
    stopping.send(stop)
    expect(stopping.sentTypes()).toEqual(['ChannelData', 'Ping', 'ChannelClosed'])
    const [newer, channel] = serve({}, undefined, 'Current')
    channel.tryWrite(bytes(10))
    channel.end()
    expect(newer.sentTypes()).toEqual(['ChannelData', 'ChannelClosed'])
    const [closing, closed] = serve({}, undefined, 'Legacy')
    closed.tryWrite(bytes(10))
    closed.end()
    closed.close()
    expect(closing.sentTypes()).toEqual(['ChannelData', 'Ping', 'ChannelClosed', 'ChannelClose'])
    closing.clock.advance(2000)
    expect(closing.sent()).toEqual([])
  })

  it('I1: recognizes old peers by a Ping within 3 s of their Hello, even if other frames came first', () => {
    const ageAfter = (ms: number, ping: boolean, hasRequested = false) => {
      const peer = new RawPeer({ onRequest: request => void request.accept() })
      if (hasRequested) peer.request(1, 'x')
      peer.clock.advance(ms)
      if (ping) peer.send({ type: 'Ping' })
      return peer.link.peerAge
    }
    for (const hasRequested of [false, true]) {
      expect(ageAfter(0, true, hasRequested)).toBe('Legacy')
      expect(ageAfter(2900, true, hasRequested)).toBe('Legacy')
      expect(ageAfter(4000, true, hasRequested)).toBe('Current')
      expect(ageAfter(4900, false, hasRequested)).toBe('Unknown')
      expect(ageAfter(5000, false, hasRequested)).toBe('Current')
    }
    const early = new RawPeer({}, false)
    early.clock.advance(9000)
    expect(early.link.peerAge).toBe('Unknown')
  })

  it('I1: keeps the delay after the process was blocked', () => {
    const [peer, channel] = serve({}, undefined, 'Legacy')
    peer.clock.stall(900)
    channel.tryWrite(bytes(10))
    peer.sent()
    channel.end()
    peer.send({ type: 'Pong' })
    peer.clock.jump(0)
    peer.clock.advance(200)
    expect(peer.sentTypes()).toEqual(['Ping'])
    peer.clock.advance(100)
    expect(peer.sentTypes()).toEqual(['ChannelClosed'])
  })

  it('I1: checks the arrival of data with at most four Pings a second for any number of channels', () => {
    const channels: Channel[] = []
    const peer = new RawPeer({ onRequest: request => void channels.push(request.accept()) })
    peer.send({ type: 'Ping' })
    peer.clock.advance(5000)
    peer.send({ type: 'Pong' })
    for (let id = 1; id <= 20; id++) peer.request(id, 'x')
    peer.sent()
    let pings = 0
    let ends = 0
    for (let ms = 0; ms < 3000; ms += 20) {
      const channel = channels[ms / 40]
      channel?.tryWrite(bytes(10))
      channel?.end()
      for (const type of peer.sentTypes()) {
        if (type === 'ChannelClosed') ends++
        if (type !== 'Ping') continue
        pings++
        peer.send({ type: 'Pong' })
      }
      peer.clock.advance(20)
    }
    expect(ends).toBe(20)
    expect(pings).toBeLessThanOrEqual(6)
  })

  it('I1: applies the delay only while the age is unknown', () => {
    const [peer, channel] = serve()
    channel.tryWrite(bytes(10))
    channel.end()
    expect(peer.sentTypes()).toEqual(['ChannelData'])
    peer.link.probed()
    peer.clock.advance(200)
    expect(peer.sent()).toEqual([])
    peer.clock.advance(100)
    expect(peer.sentTypes()).toEqual(['ChannelClosed'])
    // No Adjust arrives, as from a peer that reads slowly. 5 s after the Hello the link knows that the peer is not a legacy peer. From then
    // on it sends ChannelClosed without waiting for an Adjust.
    const [slow, unread] = serve()
    unread.tryWrite(bytes(16_384))
    unread.end()
    slow.clock.advance(4900)
    expect(slow.sentTypes()).toEqual(['ChannelData', 'ChannelData'])
    slow.link.probed()
    slow.clock.advance(500)
    expect(slow.sentTypes()).toContain('ChannelClosed')
  })

  it('I7: delays no end towards a legacy peer that is known to keep its unread data', () => {
    const [peer, channel] = serve({}, undefined, 'Legacy')
    peer.link.peerKeepsUnreadData()
    channel.tryWrite(bytes(10))
    channel.end()
    expect(peer.sentTypes()).toEqual(['ChannelData', 'ChannelClosed'])
    // An end that waits for the peer's Pong is sent too.
    const [early, waiting] = serve()
    early.send({ type: 'Ping' })
    waiting.tryWrite(bytes(10))
    waiting.end()
    expect(early.sentTypes()).toEqual(['Pong', 'ChannelData'])
    early.link.peerKeepsUnreadData()
    early.clock.advance(100)
    expect(early.sentTypes()).toEqual(['ChannelClosed'])
  })

  it.each(['Unknown', 'Legacy'])(
    'I6: sends no Ping in the first 5 s, also for ends towards a peer of age %s',
    age => {
      const [peer, channel] = serve()
      if (age === 'Legacy') peer.send({ type: 'Ping' })
      channel.tryWrite(bytes(10))
      channel.end()
      // A probe of the transport proves that the peer has read the data. It says nothing about this side's generation.
      peer.clock.advance(4000)
      expect(peer.sentTypes().filter(type => type !== 'Pong')).toEqual(['ChannelData'])
      expect(peer.probes).toBe(1)
      peer.link.probed()
      peer.clock.advance(300)
      expect(peer.sentTypes()).toEqual(['ChannelClosed'])
      peer.clock.advance(600)
      expect(peer.sent()).toEqual([])
      peer.clock.advance(100)
      expect(peer.sentTypes()).toEqual(['Ping'])
      expect(peer.probes).toBe(1)
    },
  )

  it('I6: ignores an answer without a probe, and replaces a missing answer by the first Pong', () => {
    const [peer, channel] = serve()
    peer.send({ type: 'Ping' })
    peer.link.probed()
    channel.tryWrite(bytes(10))
    channel.end()
    peer.clock.advance(5000)
    expect(peer.sentTypes()).toEqual(['Pong', 'ChannelData', 'Ping'])
    peer.send({ type: 'Pong' })
    peer.clock.advance(300)
    expect(peer.sentTypes()).toEqual(['ChannelClosed'])
  })
})

describe('R-26', () => {
  it('names the time for the return behind the mark, which a device takes only where it is plausible', () => {
    const transport = new MemoryTransport()
    new Link(transport, { clock: new ManualClock(), returnWithinMs: 3000 })
    const own = decodeFrame(transport.take()[0] ?? none)
    expect(own.type === 'Hello' && Buffer.from(own.info).toString()).toBe('muster/1;return=3000')

    const heardIn = (info: string): number[] => {
      const heard: number[] = []
      const peer = new RawPeer({ onReturnBound: returnMs => heard.push(returnMs) }, false)
      peer.send({ ...HELLO, info: Buffer.from(info) } as Frame)
      expect(peer.link.isOpen).toBe(true)
      return heard
    }
    expect(heardIn('muster/1;return=3000')).toEqual([3000])
    expect(heardIn('muster/2;return=60000;more')).toEqual([60_000])
    for (const info of ['', 'muster/1', 'muster/1;return=', 'nexigon;return=3000', 'muster/1 return=3000'])
      expect(heardIn(info)).toEqual([])
    for (const number of ['0', '999', '60001', '-1', '1e4', '3000.5', '9'.repeat(30)])
      expect(heardIn(`muster/1;return=${number}`)).toEqual([])
  })
})

describe('R-25', () => {
  it('I6: the mark in the info of the Hello says that a peer is ours, whatever it sends', () => {
    const peerWith = (info: string) => {
      const peer = new RawPeer({}, false)
      peer.send({ ...HELLO, info: Buffer.from(info) } as Frame)
      peer.send({ type: 'Ping' })
      return peer.link.peerAge
    }
    expect(peerWith('muster/1')).toBe('Current')
    expect(peerWith('muster/1;return=3000')).toBe('Current')
    expect(peerWith('muster/2 more')).toBe('Current')
    for (const info of ['', 'muster', 'nexigon', 'a muster/1', '\0']) expect(peerWith(info)).toBe('Legacy')
  })

  it('I6: both sides of ours end forwards at once from the first moment, without a Ping', async () => {
    const forwards: Channel[] = []
    const { a, b, transports } = connectedLinks({
      a: { onRequest: request => void forwards.push(request.accept()) },
      isManual: true,
    })
    for (let n = 0; n < 10; n++) {
      const opened = b.open('forward/tcp/80')
      transports.flush()
      const near = await opened
      const far = forwards[n]!
      for (const channel of [near, far]) {
        channel.tryWrite(bytes(10))
        channel.end()
      }
      transports.flush()
      for (const channel of [near, far]) {
        expect(channel.tryRead()).toHaveLength(10)
        expect(channel.tryRead()).toBeNull()
      }
      transports.flush()
      expect(a.channelCount + b.channelCount).toBe(0)
    }
    expect([a.peerAge, b.peerAge]).toEqual(['Current', 'Current'])
    expect([a.roundTripMs, b.roundTripMs]).toEqual([undefined, undefined])
    a.close()
  })
})

describe('R-13', () => {
  it('delivers data received before ChannelClose and fails later writes', async () => {
    const [peer, channel] = serve({}, undefined, 'Current')
    let stops = 0
    channel.onPeerStopped = () => stops++
    expect(channel.onPeerStopped).toBeDefined()
    peer.sendData(1, bytes(7))
    peer.send(stop)
    expect(stops).toBe(1)
    expect(channel.hasPeerStopped).toBe(true)
    await expect(channel.write(bytes(1))).rejects.toThrow('the peer reads no more')
    expect(channel.tryRead()).toHaveLength(7)
    expect(channel.tryRead()).toBeUndefined()
    peer.sendData(1, bytes(8))
    expect(channel.tryRead()).toHaveLength(8)
  })

  it('treats ChannelClose of old peers as the end of data, because they send no other end', async () => {
    const [peer, channel] = serve({}, undefined, 'Legacy')
    peer.sendData(1, bytes(7))
    peer.send(stop)
    expect(await channel.read()).toHaveLength(7)
    expect(await channel.read()).toBeNull()
    expect(peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    expect(peer.link.channelCount).toBe(0)
  })

  it('I1: treats ChannelClose of peers of unknown age as the end of data after 300 ms without data', async () => {
    const [peer, channel] = serve()
    peer.sendData(1, bytes(7))
    peer.send(stop)
    expect(await channel.read()).toHaveLength(7)
    for (let i = 0; i < 20; i++) {
      peer.clock.advance(290)
      peer.sendData(1, bytes(8))
      expect(channel.tryRead()).toHaveLength(8)
    }
    const [silent, other] = serve()
    silent.send(stop)
    silent.clock.advance(200)
    expect(other.tryRead()).toBeUndefined()
    silent.clock.advance(300)
    expect(other.tryRead()).toBeNull()
    expect(silent.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    const [known, ended] = serve()
    known.send(stop, { type: 'Ping' })
    known.clock.advance(300)
    expect(ended.tryRead()).toBeNull()
  })

  it('I1: does not count time in which the peer has no credit or this process is blocked', () => {
    const [peer, channel] = serve()
    peer.send(stop)
    peer.sendData(1, bytes(16_384))
    peer.clock.advance(2000)
    expect(channel.tryRead()).toHaveLength(16_384)
    expect(peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelAdjust'])
    peer.clock.advance(290)
    peer.sendData(1, bytes(9))
    expect(channel.tryRead()).toHaveLength(9)
    peer.clock.jump(4000)
    peer.sendData(1, bytes(10))
    expect(channel.tryRead()).toHaveLength(10)
  })

  it('I1: receives all of 1 MiB that a new peer sends after ChannelClose in its first second', () => {
    const [peer, channel] = serve()
    let received = 0
    channel.onReadable = () => {
      for (let piece = channel.tryRead(); piece; piece = channel.tryRead()) received += piece.length
    }
    peer.clock.advance(900)
    peer.send(stop)
    let credit = 16_384
    for (let sent = 0; sent < 1024 * 1024; ) {
      const length = Math.min(credit, 16_000, 1024 * 1024 - sent)
      if (length > 0) peer.sendData(1, bytes(length))
      sent += length
      credit -= length
      peer.clock.advance(20)
      for (const frame of peer.sent()) if (frame.type === 'ChannelAdjust') credit += frame.byteCredit
    }
    peer.send(end)
    expect(received).toBe(1024 * 1024)
    expect(channel.tryRead()).toBeNull()
  })
})

it('R-14: answers the end of the peer with both end frames once all data was sent', async () => {
  const [peer, channel] = serve()
  peer.send(end)
  expect(await channel.read()).toBeNull()
  expect(peer.sent()).toEqual([])
  channel.end()
  expect(peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
  await channel.closed
  expect(peer.link.channelCount).toBe(0)
})

it('R-15: sends Close after the queued frames and before closing the transport', () => {
  const peer = new RawPeer({ limits: { transportBufferBytes: 30 } })
  const openings = [peer.link.open('a'), peer.link.open('b')]
  peer.link.close('bye')
  expect(peer.sentTypes()).toEqual(['ChannelRequest', 'ChannelRequest', 'Close'])
  expect(peer.transport.closed).toBe('Graceful')
  return Promise.allSettled(openings)
})

describe('R-16', () => {
  it('answers each Ping with one Pong, ahead of all queued frames', () => {
    const [peer, channel] = serve({ limits: { transportBufferBytes: 20_000 } }, { frames: 1e6, bytes: 1e8 })
    channel.tryWrite(bytes(1_000_000))
    peer.send({ type: 'Ping' }, { type: 'Ping' })
    const types = peer.sentTypes()
    expect(types).toEqual(['ChannelData', 'ChannelData', 'Pong', 'Pong'])
    expect(peer.sentAll().map(frame => frame.type)).not.toContain('Pong')
  })

  it('pings every 5 s after the Hello of the peer and measures the round trip', () => {
    const peer = new RawPeer({}, false)
    peer.sent()
    peer.clock.advance(3000)
    peer.send(HELLO)
    peer.clock.advance(4900)
    expect(peer.sent()).toEqual([])
    peer.clock.advance(100)
    expect(peer.sentTypes()).toEqual(['Ping'])
    expect(peer.link.roundTripMs).toBeUndefined()
    peer.clock.advance(40)
    peer.send({ type: 'Pong' })
    expect(peer.link.roundTripMs).toBe(40)
    peer.clock.advance(4900)
    expect(peer.sent()).toEqual([])
    peer.clock.advance(60)
    expect(peer.sentTypes()).toEqual(['Ping'])
    expect(peer.clock.now() - peer.link.lastReceivedAt).toBeGreaterThanOrEqual(4900)
    expect(peer.clock.now() - peer.link.lastReceivedAt).toBeLessThanOrEqual(5000)
  })

  it.each(['Legacy', 'Current'])('O12: sends one Ping a minute to a %s peer that sends Pings', age => {
    const peer = new RawPeer({ maxPingIntervalMs: 60_000 })
    let pings = 0
    const answer = () => {
      for (const type of peer.sentTypes()) {
        if (type !== 'Ping') continue
        pings++
        peer.send({ type: 'Pong' })
      }
    }
    if (age === 'Legacy') peer.send({ type: 'Ping' })
    for (let minute = 1; minute <= 10; minute++) {
      for (let n = 0; n < 12; n++) {
        // The peer's timer fires slightly later than ours.
        peer.clock.advance(5_000)
        answer()
        peer.clock.advance(30)
        peer.send({ type: 'Ping' })
        answer()
      }
      expect(pings).toBe(minute)
    }
    // The peer falls silent. A Ping is sent after 7.5 s, and the link ends 15 s later.
    peer.clock.advance(7_600)
    expect(peer.sentTypes()).toEqual(['Ping'])
    peer.clock.advance(15_100)
    expect(peer.link.end).toEqual({ kind: 'Timeout', reason: 'no Pong' })
  })

  it('drops a silent peer 15 s after the Ping', () => {
    const peer = new RawPeer()
    peer.clock.advance(5000)
    expect(peer.sentTypes()).toEqual(['Ping'])
    peer.clock.advance(14_900)
    expect(peer.link.isOpen).toBe(true)
    peer.clock.advance(100)
    expect(peer.link.end).toEqual({ kind: 'Timeout', reason: 'no Pong' })
    expect(peer.transport.closed).toBe('Abort')
    expect(peer.sent()).toEqual([])
  })

  it('tolerates a late Pong for a minute while other frames arrive', () => {
    const [peer] = serve()
    peer.clock.advance(5000)
    peer.sent()
    for (let i = 0; i < 59; i++) {
      peer.clock.advance(1000)
      peer.sendData(1, none)
    }
    expect(peer.link.isOpen).toBe(true)
    peer.clock.advance(1000)
    expect(peer.link.end).toEqual({ kind: 'Timeout', reason: 'no Pong' })
    const [late] = serve()
    late.clock.advance(5000)
    late.sent()
    late.clock.advance(12_000)
    late.send({ type: 'Pong' })
    late.clock.advance(1000)
    expect(late.sentTypes()).toEqual(['Ping'])
  })

  it('drops a peer that does not read for 30 s', () => {
    const peer = new RawPeer()
    peer.clock.advance(5000)
    peer.clock.advance(29_900)
    expect(peer.link.isOpen).toBe(true)
    peer.clock.advance(100)
    expect(peer.link.end).toEqual({ kind: 'ConsumerTooSlow', reason: 'the peer takes no data' })
  })

  it('ends on a Pong without a Ping', () => {
    const peer = new RawPeer()
    peer.send({ type: 'Pong' })
    expect(peer.link.end).toEqual({ kind: 'Violation', reason: 'pong without ping' })
  })

  it('uses one timer for any number of links, and none after they have ended', () => {
    const clock = new ManualClock()
    let pings = 0
    const transport = (): MemoryTransport => {
      const each = new MemoryTransport()
      each.onSend = () => {
        for (const message of each.take()) if (message[0] === 0x20) pings++
      }
      return each
    }
    const links = Array.from({ length: 1000 }, () => new Link(transport(), { clock }))
    for (const link of links)
      link.receive(Uint8Array.from(Buffer.from('001b1b2e862ccdf49d526de30da7abe18c', 'hex')))
    expect(clock.intervalCount).toBe(1)
    for (let round = 1; round <= 5; round++) {
      clock.advance(5000)
      expect(pings).toBe(1000 * round)
      for (const link of links) link.receive(Uint8Array.of(0x21))
    }
    for (const link of links) link.close()
    clock.advance(1000)
    expect(clock.intervalCount).toBe(0)
  })
})

describe('the outgoing queue (2.10)', () => {
  it('ends the link as ConsumerTooSlow when too many frames are queued for a peer that does not read', () => {
    const peer = new RawPeer({
      limits: { transportBufferBytes: 100, controlFramesPerSecond: 1e6, requestsPerSecond: 1e6 },
    })
    let requests = 0
    while (peer.link.isOpen && requests < 5000) peer.request(++requests, 'x')
    expect(peer.link.end).toEqual({ kind: 'ConsumerTooSlow', reason: 'outgoing queue limit exceeded' })
    expect(requests).toBeGreaterThan(1000)
    expect(requests).toBeLessThan(1100)
  })

  it('ends the link as ConsumerTooSlow when too many bytes are queued for a peer that does not read', () => {
    const peer = new RawPeer({
      limits: { transportBufferBytes: 100, maxQueuedBytes: 50_000, requestsPerSecond: 1e6 },
      onRequest: request => request.reject('x'.repeat(4096)),
    })
    let requests = 0
    while (peer.link.isOpen && requests < 500) peer.request(++requests, 'x')
    expect(peer.link.end?.kind).toBe('ConsumerTooSlow')
    expect(requests).toBeLessThan(16)
  })

  it('sends queued frames in order when the peer reads again', () => {
    const peer = new RawPeer({ limits: { transportBufferBytes: 100, requestsPerSecond: 1e6 } })
    for (let id = 1; id <= 500; id++) peer.request(id, 'x')
    const order = peer.sentAll().map(frame => (frame.type === 'ChannelReject' ? frame.receiverId : 0))
    expect(order).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
  })
})

it('sends no data ahead of the Accept of its channel, even before the transport reports room', () => {
  const peer = new RawPeer({
    limits: { transportBufferBytes: 10 },
    onRequest: request => request.accept().tryWrite(bytes(3)),
  })
  peer.request(1, 'first')
  let second: Channel | undefined
  const other = new RawPeer({
    limits: { transportBufferBytes: 10 },
    onRequest: request => {
      second = request.accept()
    },
  })
  other.request(1, 'fills the buffer')
  other.request(2, 'waits')
  expect(other.transport.take()).toHaveLength(1)
  second?.tryWrite(bytes(3))
  for (const each of [peer, other]) {
    expect(each.sentAll().map(frame => frame.type)).toEqual(['ChannelAccept', 'ChannelData'])
  }
})

it('two links serve each other over a self-delivering transport', async () => {
  const echo = async (served: Channel): Promise<void> => {
    for await (const piece of served) await served.write(piece)
    served.end()
  }
  const pair = connectedLinks({ b: { onRequest: request => void echo(request.accept()) } })
  const channel = await pair.a.open('echo')
  const sent = Buffer.alloc(300_000, 'abcdefg')
  const received: Uint8Array[] = []
  await Promise.all([
    (async () => {
      for (let at = 0; at < sent.length; at += 10_000) await channel.write(sent.subarray(at, at + 10_000))
      channel.end()
    })(),
    (async () => {
      for await (const piece of channel) received.push(piece)
    })(),
  ])
  expect(Buffer.concat(received).equals(sent)).toBe(true)
  await channel.closed
  expect(pair.a.channelCount).toBe(0)
})
