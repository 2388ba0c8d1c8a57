import { describe, expect, it } from 'vitest'
import type { Frame } from './frames.ts'
import { RawPeer } from './testing/raw-peer.ts'

const words = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text))
const requestIds = (frames: Frame[]): number[] =>
  frames.flatMap(frame => (frame.type === 'ChannelRequest' ? [frame.senderId] : []))

/** Advances the clock and answers Pings. Returns all frames except the Pings. */
function passTime(peer: RawPeer, ms: number): Frame[] {
  const frames: Frame[] = []
  for (let passed = 0; passed < ms; passed += 100) {
    peer.clock.advance(100)
    for (const frame of peer.sent()) {
      if (frame.type === 'Ping') peer.send({ type: 'Pong' })
      else frames.push(frame)
    }
  }
  return frames
}

describe('open', () => {
  it('resolves with the channel when the peer accepts', async () => {
    const peer = new RawPeer()
    const opening = peer.link.open('forward/tcp/80')
    expect(peer.sent()).toEqual([
      {
        type: 'ChannelRequest',
        senderId: 1,
        frameCredit: 128,
        byteCredit: 16_384,
        endpoint: Buffer.from('forward/tcp/80'),
      },
    ])
    peer.accept(1, 9, { frames: 1, bytes: 10 })
    const channel = await opening
    expect(channel.endpoint).toBe('forward/tcp/80')
    channel.tryWrite(new Uint8Array(20))
    expect(peer.sent()).toMatchObject([{ type: 'ChannelData', receiverId: 9, payload: Buffer.alloc(10) }])
  })

  it('rejects with the reason of the peer', async () => {
    const peer = new RawPeer()
    const opening = peer.link.open('x')
    peer.send({ type: 'ChannelReject', receiverId: 1, reason: words('unknown endpoint') })
    await expect(opening).rejects.toMatchObject({ name: 'ChannelRejectedError', reason: 'unknown endpoint' })
  })

  it('rejects when the link ends, or has ended', async () => {
    const peer = new RawPeer({ limits: { maxOpensInFlight: 1 } })
    const inFlight = peer.link.open('a')
    const waiting = peer.link.open('b')
    peer.link.transportClosed('gone')
    await expect(inFlight).rejects.toThrow('link ended: TransportClosed: gone')
    await expect(waiting).rejects.toThrow('link ended: TransportClosed: gone')
    await expect(peer.link.open('c')).rejects.toMatchObject({ end: { kind: 'TransportClosed' } })
  })

  it('rejects an endpoint over 4096 bytes without sending a request', async () => {
    const peer = new RawPeer()
    await expect(peer.link.open('x'.repeat(4097))).rejects.toThrow('channel endpoint too large')
    expect(peer.sent()).toEqual([])
  })

  it('rejects after its timeout, and closes a channel that is accepted too late', async () => {
    const peer = new RawPeer()
    const opening = peer.link.open('x', { timeoutMs: 1000 })
    peer.clock.advance(1000)
    await expect(opening).rejects.toThrow('channel rejected: timed out')
    peer.sent()
    peer.accept(1, 7)
    expect(peer.sent()).toMatchObject([
      { type: 'ChannelClosed', receiverId: 7 },
      { type: 'ChannelClose', receiverId: 7 },
    ])
    peer.sendData(1, new Uint8Array(100))
    expect(peer.link.isOpen).toBe(true)
    expect(peer.link.channelCount).toBe(0)
    const rejected = peer.link.open('x', { timeoutMs: 1000 })
    peer.clock.advance(1000)
    await expect(rejected).rejects.toThrow('timed out')
    peer.send({ type: 'ChannelReject', receiverId: 2, reason: words('connection channel limit reached') })
    expect(peer.link.isOpen).toBe(true)
  })

  it('rejects after 30 s by default', async () => {
    const peer = new RawPeer()
    const opening = peer.link.open('x')
    passTime(peer, 29_900)
    peer.clock.advance(100)
    await expect(opening).rejects.toThrow('timed out')
  })

  it('names the queue as the reason when no request was sent in time', async () => {
    const peer = new RawPeer({ limits: { maxOpensInFlight: 1 } })
    const [first, second] = ['a', 'b'].map(name => peer.link.open(name, { timeoutMs: 1000 }))
    peer.clock.advance(1000)
    await expect(first).rejects.toThrow('channel rejected: timed out')
    await expect(second).rejects.toThrow('channel rejected: too many channels are waiting')
  })

  it('rejects when its signal is aborted', async () => {
    const peer = new RawPeer({ limits: { maxOpensInFlight: 1 } })
    const [first, second] = [new AbortController(), new AbortController()]
    const inFlight = peer.link.open('a', { signal: first.signal })
    const waiting = peer.link.open('b', { signal: second.signal })
    second.abort(new Error('not needed'))
    first.abort(new Error('nor this'))
    first.abort()
    await expect(inFlight).rejects.toThrow('nor this')
    await expect(waiting).rejects.toThrow('not needed')
    await expect(peer.link.open('c', { signal: first.signal })).rejects.toThrow('nor this')
    const last = peer.link.open('d', { signal: new AbortController().signal })
    expect(requestIds(peer.sent())).toEqual([1])
    peer.accept(1, 1)
    expect(requestIds(peer.sent())).toEqual([2])
    peer.accept(2, 2)
    expect((await last).endpoint).toBe('d')
  })
})

describe('R-17: limits of opens', () => {
  it('has at most 16 in flight and 16 open', async () => {
    const peer = new RawPeer({ limits: { opensPerSecond: 1000 } })
    const openings = Array.from({ length: 40 }, (_, index) => peer.link.open(`e${index}`))
    expect(requestIds(peer.sent())).toHaveLength(16)
    for (let id = 1; id <= 16; id++) peer.accept(id, id)
    expect(peer.sent()).toEqual([])
    const channels = await Promise.all(openings.slice(0, 16))
    channels[3]?.close()
    expect(requestIds(peer.sent())).toEqual([17])
    peer.send({ type: 'ChannelReject', receiverId: 17, reason: words('no') })
    await expect(openings[16]).rejects.toThrow('no')
    expect(requestIds(peer.sent())).toEqual([18])
    peer.link.close()
    await Promise.allSettled(openings)
  })

  it('leaves slots for channels of the peer', async () => {
    const peer = new RawPeer({
      limits: { maxChannels: 4, maxPendingRequests: 4 },
      onRequest: request => {
        if (request.endpoint === 'accepted') request.accept()
        if (request.endpoint === 'refused') setImmediate(() => request.reject('no'))
      },
    })
    peer.request(1, 'accepted')
    peer.request(2, 'undecided')
    peer.request(3, 'refused')
    const openings = [peer.link.open('a'), peer.link.open('b')]
    expect(requestIds(peer.sent())).toHaveLength(1)
    await new Promise(resolve => setImmediate(resolve))
    expect(requestIds(peer.sent())).toHaveLength(1)
    peer.link.close()
    await Promise.allSettled(openings)
  })

  it('sends far fewer than 64 requests in any second', async () => {
    const peer = new RawPeer({
      limits: { maxOpenedChannels: 1000, maxChannels: 1000, maxOpensInFlight: 1000 },
    })
    const openings = Array.from({ length: 120 }, () => peer.link.open('x'))
    const times: number[] = []
    for (let passed = 0; passed < 5000; passed += 100) {
      for (const _ of requestIds(peer.sent())) times.push(passed)
      peer.clock.advance(100)
    }
    expect(times).toHaveLength(120)
    for (const start of times) {
      expect(times.filter(time => time >= start && time < start + 1000).length).toBeLessThanOrEqual(48)
    }
    peer.link.close()
    await Promise.allSettled(openings)
  })

  it('rejects further opens when 256 are waiting', async () => {
    const peer = new RawPeer({ limits: { maxOpensInFlight: 1 } })
    const openings = Array.from({ length: 258 }, () => peer.link.open('x'))
    await expect(openings[257]).rejects.toThrow('too many channels are waiting')
    peer.link.close()
    await Promise.allSettled(openings)
  })

  it.each(['connection channel limit reached', 'too many concurrent TCP forwardings'])(
    'retries after "%s"',
    async reason => {
      const peer = new RawPeer()
      const opening = peer.link.open('x')
      expect(requestIds(peer.sent())).toEqual([1])
      for (let id = 1; id < 4; id++) {
        peer.send({ type: 'ChannelReject', receiverId: id, reason: words(reason) })
        expect(peer.sent()).toEqual([])
        expect(requestIds(passTime(peer, 1000))).toEqual([id + 1])
      }
      peer.accept(4, 4)
      expect((await opening).endpoint).toBe('x')
    },
  )

  it('stops retrying at the deadline, with the last reason, and when aborted', async () => {
    const peer = new RawPeer()
    const controller = new AbortController()
    const opening = peer.link.open('x', { timeoutMs: 1000 })
    const aborted = peer.link.open('y', { signal: controller.signal })
    const refuse = (frames: Frame[]): void => {
      for (const receiverId of requestIds(frames)) {
        peer.send({ type: 'ChannelReject', receiverId, reason: words('connection channel limit reached') })
      }
    }
    refuse(peer.sent())
    controller.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    for (let i = 0; i < 10; i++) {
      peer.clock.advance(100)
      refuse(peer.sent())
    }
    const error = await opening.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ reason: 'connection channel limit reached' })
    expect((error as { shouldRetry(): boolean }).shouldRetry()).toBe(true)
    expect(requestIds(passTime(peer, 5000))).toEqual([])
  })
})
