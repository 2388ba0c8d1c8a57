import { describe, expect, it } from 'vitest'
import { encodeFrame, FRAME, MAGIC } from './frames.ts'
import { Link } from './link.ts'
import type { LinkOptions } from './link-options.ts'
import type { ChannelRequest } from './request.ts'
import { connectedLinks } from './testing/memory-transport.ts'
import { HELLO, RawPeer } from './testing/raw-peer.ts'

const none = new Uint8Array(0)
const long = new Uint8Array(FRAME.maxControlPayloadBytes + 1).fill(0x61)
const acceptAll: LinkOptions = { onRequest: request => void request.accept() }

function expectViolation(peer: RawPeer, reason: string): void {
  expect(peer.link.end).toEqual({ kind: 'Violation', reason })
  expect(peer.transport.closed).toBe('Graceful')
  const last = peer.sent().at(-1)
  expect(last?.type === 'Close' && Buffer.from(last.reason).toString()).toBe(`protocol violation: ${reason}`)
}

describe('handshake', () => {
  it('sends Hello first, once, without waiting', () => {
    const peer = new RawPeer({}, false)
    expect(peer.sent()).toEqual([{ ...HELLO, magic: Buffer.from(MAGIC), info: Buffer.from('muster/1') }])
    peer.send(HELLO)
    peer.clock.advance(4900)
    expect(peer.sent()).toEqual([])
  })

  it('ends when the first frame is no Hello', () => {
    const peer = new RawPeer({}, false)
    peer.send({ type: 'Ping' })
    expectViolation(peer, 'the first frame is no Hello')
  })

  it('ends on a wrong magic, an over-long info and a second Hello', () => {
    const wrong = new RawPeer({}, false)
    wrong.send({ type: 'Hello', magic: Uint8Array.from(MAGIC, byte => byte ^ 1), info: none })
    expectViolation(wrong, 'wrong protocol magic')
    const info = new RawPeer({}, false)
    info.send({ type: 'Hello', magic: MAGIC, info: long })
    expectViolation(info, 'control payload too large')
    const second = new RawPeer()
    second.send(HELLO)
    expectViolation(second, 'second Hello')
  })

  it('waits ten seconds for the Hello of the peer', () => {
    const peer = new RawPeer({}, false)
    peer.clock.advance(9900)
    expect(peer.link.isOpen).toBe(true)
    peer.clock.advance(100)
    expect(peer.link.end).toEqual({ kind: 'Timeout', reason: 'no Hello' })
    expect(peer.transport.closed).toBe('Abort')
  })
})

describe('violations', () => {
  it('ends on unknown tags, short frames, ids out of range and empty messages', () => {
    const bad = [[0x16], [0x99, 1, 2], [0x13, 0, 0], [0x14, 0], [0x15], [0x10, 0, 1], []]
    for (const bytes of bad) {
      const peer = new RawPeer()
      peer.send({ type: 'Pong' }, { type: 'Ping' })
      const other = new RawPeer()
      other.send({ type: 'Ping' })
      other.link.receive(Uint8Array.from(bytes))
      expect(other.link.end?.kind, String(bytes)).toBe('Violation')
    }
    const peer = new RawPeer()
    peer.link.receive(Uint8Array.of(0x13, 0x80, 0, 0, 0, 0, 0, 0, 1, 0))
    expectViolation(peer, 'channel id out of range')
  })

  it('ends on text messages', () => {
    const peer = new RawPeer()
    peer.link.receiveText()
    expectViolation(peer, 'text message')
  })

  it('accepts frames of 1 MiB and nine bytes and none longer', () => {
    for (const tag of [0x13, 0x20]) {
      const peer = new RawPeer()
      peer.send({ type: 'Ping' })
      const largest = new Uint8Array(FRAME.maxBytes)
      largest[0] = tag
      peer.link.receive(largest)
      expect(peer.link.isOpen).toBe(true)
      const larger = new Uint8Array(FRAME.maxBytes + 1)
      larger[0] = tag
      peer.link.receive(larger)
      expectViolation(peer, 'frame too large')
    }
  })

  it('ends on reasons over 4096 bytes', () => {
    for (const type of ['ChannelClose', 'ChannelClosed', 'ChannelReject'] as const) {
      const peer = new RawPeer()
      peer.send({ type, receiverId: 1, reason: long })
      expectViolation(peer, 'control payload too large')
    }
    const peer = new RawPeer()
    peer.send({ type: 'Close', reason: long })
    expectViolation(peer, 'control payload too large')
  })

  it('ends on answers to requests that were not sent', () => {
    const accept = new RawPeer()
    accept.accept(1, 1)
    expectViolation(accept, 'accept without request')
    const reject = new RawPeer()
    reject.send({ type: 'ChannelReject', receiverId: 1, reason: none })
    expectViolation(reject, 'reject without request')
    const twice = new RawPeer()
    void twice.link.open('x')
    twice.accept(1, 1)
    twice.accept(1, 2)
    expectViolation(twice, 'accept without request')
  })

  it('ends on channel id 0', async () => {
    const request = new RawPeer(acceptAll)
    request.request(0, 'x')
    expectViolation(request, 'channel id 0')
    const accept = new RawPeer()
    const opening = accept.link.open('x')
    accept.accept(1, 0)
    expectViolation(accept, 'channel id 0')
    await expect(opening).rejects.toThrow('link ended: Violation: channel id 0')
  })

  it('ignores frames after the end', () => {
    const peer = new RawPeer()
    peer.link.receiveText()
    peer.sent()
    peer.send({ type: 'Ping' }, HELLO)
    peer.link.receiveText()
    peer.link.drained()
    peer.link.transportClosed()
    peer.link.close()
    expect(peer.sent()).toEqual([])
    expect(peer.link.end?.reason).toBe('text message')
  })
})

describe('rate limits', () => {
  const perSecond = (
    send: (peer: RawPeer, index: number) => void,
    limit: number,
    options = acceptAll,
  ): RawPeer => {
    const peer = new RawPeer(options)
    peer.send({ type: 'Ping' })
    peer.clock.advance(1000)
    for (let second = 0; second < 2; second++) {
      for (let i = 0; i < limit; i++) send(peer, i)
      expect(peer.link.end).toBeUndefined()
      peer.clock.advance(1000)
    }
    for (let i = 0; i <= limit; i++) send(peer, i)
    return peer
  }

  it('accepts 8 Pings a second', () => {
    expectViolation(
      perSecond(peer => peer.send({ type: 'Ping' }), 8),
      'too many pings',
    )
  })

  it('accepts 64 channel requests a second', () => {
    expectViolation(
      perSecond((peer, index) => peer.request(index + 1, 'x'), 64, {}),
      'too many channel requests',
    )
  })

  it('accepts 128 frames of any type for unknown channels a second', () => {
    const send = (peer: RawPeer, index: number): void => {
      if (index % 4 === 0) peer.sendData(99, Uint8Array.of(1))
      if (index % 4 === 1) peer.send({ type: 'ChannelAdjust', receiverId: 99, frameCredit: 1, byteCredit: 1 })
      if (index % 4 === 2) peer.send({ type: 'ChannelClose', receiverId: 99, reason: none })
      if (index % 4 === 3) peer.send({ type: 'ChannelClosed', receiverId: 99, reason: none })
    }
    expectViolation(perSecond(send, 128), 'too many frames for unknown channels')
  })

  it('accepts 8192 control frames a second', () => {
    const peer = new RawPeer(acceptAll)
    peer.request(1, 'x')
    for (let i = 0; i < 8191; i++) {
      peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 0 })
    }
    expect(peer.link.isOpen).toBe(true)
    peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 0, byteCredit: 0 })
    expectViolation(peer, 'too many control frames')
  })

  it('does not count Adjusts that answer data', () => {
    let request: ChannelRequest | undefined
    const peer = new RawPeer({ onRequest: each => (request = each) })
    peer.request(1, 'x')
    const channel = request?.accept()
    for (let i = 0; i < 20_000; i++) {
      channel?.tryWrite(Uint8Array.of(1))
      peer.sent()
      peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 1 })
    }
    expect(peer.link.isOpen).toBe(true)
  })
})

describe('channel requests', () => {
  it('rejects an over-long endpoint and keeps the link', () => {
    const peer = new RawPeer(acceptAll)
    peer.request(1, long)
    expect(peer.sent()).toMatchObject([
      { type: 'ChannelReject', receiverId: 1, reason: Buffer.from('channel endpoint too large') },
    ])
    peer.request(2, long.subarray(1))
    expect(peer.sentTypes()).toEqual(['ChannelAccept'])
  })

  it('rejects endpoints that are not UTF-8, and every endpoint without a request handler', () => {
    const peer = new RawPeer(acceptAll)
    peer.request(1, Uint8Array.of(0xff, 0xfe))
    expect(peer.sent()).toMatchObject([{ receiverId: 1, reason: Buffer.from('invalid endpoint') }])
    const withoutHandler = new RawPeer()
    withoutHandler.request(1, 'executor')
    expect(withoutHandler.sent()).toMatchObject([{ receiverId: 1, reason: Buffer.from('unknown endpoint') }])
  })

  it('allows 16 undecided requests, and 32 channels in both directions', () => {
    const requests: ChannelRequest[] = []
    const peer = new RawPeer({ onRequest: request => requests.push(request) })
    for (let i = 1; i <= 17; i++) peer.request(i, 'x')
    expect(peer.sent()).toMatchObject([
      { type: 'ChannelReject', receiverId: 17, reason: Buffer.from('connection channel limit reached') },
    ])
    for (const request of requests.splice(0)) request.accept()
    void peer.link.open('own')
    for (let i = 18; i <= 33; i++) peer.request(i, 'x')
    for (const request of requests.splice(0)) request.accept()
    expect(peer.link.channelCount).toBe(31)
    expect(peer.sent().filter(frame => frame.type === 'ChannelReject')).toMatchObject([{ receiverId: 33 }])
  })

  it('decides each request once, and rejects it when the application takes a minute', () => {
    const requests: ChannelRequest[] = []
    const peer = new RawPeer({ onRequest: request => requests.push(request) })
    peer.request(1, 'accepted')
    peer.request(2, 'rejected')
    peer.request(3, 'forgotten')
    const [accepted, rejected, forgotten] = requests
    expect(accepted?.endpoint).toBe('accepted')
    expect(accepted?.isPending).toBe(true)
    expect(accepted?.accept().endpoint).toBe('accepted')
    expect(() => accepted?.accept()).toThrow('decided before')
    accepted?.reject('too late')
    rejected?.reject('no')
    rejected?.reject('no')
    expect(() => rejected?.accept()).toThrow('decided before')
    expect(peer.sentTypes()).toEqual(['ChannelAccept', 'ChannelReject'])
    const keepAlive = (): void => {
      if (peer.sentTypes().includes('Ping')) peer.send({ type: 'Pong' })
    }
    for (let i = 0; i < 599; i++) {
      peer.clock.advance(100)
      keepAlive()
    }
    expect(forgotten?.isPending).toBe(true)
    peer.clock.advance(100)
    expect(peer.sent()).toMatchObject([
      { type: 'Ping' },
      { receiverId: 3, reason: Buffer.from('request timed out') },
    ])
    expect(forgotten?.isPending).toBe(false)
    forgotten?.reject('late')
    expect(peer.sent()).toEqual([])
  })

  it('returns a closed channel when the application accepts too late', async () => {
    const requests: ChannelRequest[] = []
    const peer = new RawPeer({
      onRequest: request => requests.push(request),
      limits: { requestDecisionMs: 1000 },
    })
    peer.request(1, 'x')
    peer.request(2, 'x')
    peer.clock.advance(1000)
    const late = requests[0]?.accept()
    expect(late?.canWrite).toBe(false)
    peer.link.close()
    const ended = requests[1]?.accept()
    await expect(ended?.read()).rejects.toThrow('link ended')
    await ended?.closed
  })

  it('rejects when the application throws, and reports it', () => {
    const errors: unknown[] = []
    const onRequest = (): never => {
      throw new Error('bug')
    }
    const peer = new RawPeer({ onRequest, onError: error => errors.push(error) })
    peer.request(1, 'x')
    expect(peer.sent()).toMatchObject([{ receiverId: 1, reason: Buffer.from('internal error') }])
    expect(errors).toEqual([new Error('bug')])
    const silent = new RawPeer({ onRequest, onError: onRequest })
    silent.request(1, 'x')
    expect(silent.link.isOpen).toBe(true)
  })

  it('numbers channels of both directions with one counter from 1', async () => {
    const peer = new RawPeer(acceptAll)
    const first = peer.link.open('a')
    peer.request(70, 'b')
    const third = peer.link.open('c')
    expect(peer.sent()).toMatchObject([
      { type: 'ChannelRequest', senderId: 1 },
      { type: 'ChannelAccept', senderId: 2, receiverId: 70 },
      { type: 'ChannelRequest', senderId: 3 },
    ])
    peer.accept(3, 8)
    peer.accept(1, 9)
    expect((await first).endpoint).toBe('a')
    expect((await third).endpoint).toBe('c')
  })
})

describe('the end of a link', () => {
  it('is sent to the peer with its reason after close()', async () => {
    const peer = new RawPeer()
    const { ended } = peer.link
    peer.link.close('maintenance')
    expect(peer.sent()).toMatchObject([{ type: 'Close', reason: Buffer.from('maintenance') }])
    expect(peer.transport.closed).toBe('Graceful')
    expect(await ended).toEqual({ kind: 'LocalClose', reason: 'maintenance' })
    expect(await peer.link.ended).toEqual({ kind: 'LocalClose', reason: 'maintenance' })
    expect(peer.link.isOpen).toBe(false)
  })

  it('is PeerClose after a Close frame, with its reason', () => {
    const peer = new RawPeer()
    peer.send({ type: 'Close', reason: Uint8Array.of(0x62, 0x79, 0x65, 0xff) })
    expect(peer.link.end).toEqual({ kind: 'PeerClose', reason: 'bye\ufffd' })
    expect(peer.sent()).toEqual([])
    expect(peer.transport.closed).toBe('Graceful')
  })

  it('is TransportClosed without a Close frame', () => {
    const peer = new RawPeer()
    peer.link.transportClosed('code 1006')
    expect(peer.link.end).toEqual({ kind: 'TransportClosed', reason: 'code 1006' })
  })

  it('reaches the other side of a connection', async () => {
    const pair = connectedLinks()
    pair.a.close('enough')
    expect(await pair.b.ended).toEqual({ kind: 'PeerClose', reason: 'enough' })
    const aborted = connectedLinks()
    aborted.transports.a.close(true)
    expect(await aborted.b.ended).toEqual({ kind: 'TransportClosed', reason: 'aborted' })
    expect(await aborted.a.ended).toEqual({ kind: 'TransportClosed', reason: '' })
  })

  it('calls onEnded once, as a method of the options, after everything else has ended', () => {
    const reported: unknown[] = []
    class Owner {
      readonly link: Link = new Link(
        { bufferedBytes: 0, send: () => {}, close: () => reported.push('closed') },
        this,
      )
      onEnded(end: unknown): void {
        reported.push(end, this.link.isOpen)
        throw new Error('a hook')
      }
      onError(error: unknown): void {
        reported.push(error)
      }
    }
    const { link } = new Owner()
    link.close('enough')
    link.transportClosed()
    expect(reported).toEqual(['closed', { kind: 'LocalClose', reason: 'enough' }, false, new Error('a hook')])
  })

  it('follows from an internal error, which is reported', () => {
    const errors: unknown[] = []
    const transport = {
      bufferedBytes: 0,
      send: (message: Uint8Array) => {
        if (message[0] === 0x21) throw new Error('broken transport')
      },
      close: () => {},
    }
    const link = new Link(transport, { onError: error => errors.push(error) })
    link.receive(encodeFrame(HELLO))
    link.receive(encodeFrame({ type: 'Ping' }))
    expect(link.end).toEqual({ kind: 'LocalClose', reason: 'internal error' })
    expect(errors).toEqual([new Error('broken transport')])
  })
})
