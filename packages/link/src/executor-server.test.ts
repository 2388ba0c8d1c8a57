import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { ByteBudget } from './byte-budget.ts'
import type { Channel } from './channel.ts'
import { errorEnvelope, okEnvelope } from './envelope.ts'
import {
  type ExecutorHandle,
  type ExecutorOptions,
  type ExecutorService,
  serveExecutor,
} from './executor-server.ts'
import type { Frame } from './frames.ts'
import { RawPeer } from './testing/raw-peer.ts'

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ''), 'hex'))

// Example messages of docs/protocol.md 3.2.
const GET_ACTOR = hex('000e 6163746f725f4765744163746f72 00000002 7b7d')
const FORBIDDEN = hex(`0000003e 7b22726573756c74223a224572726f72222c226572726f72223a7b226b696e64223a
  22466f7262696464656e222c226d657373616765223a226e6f227d7d`)
const DEVICE = {
  actor: {
    actor: 'Device',
    deviceId: 'd_z7L73xZdkkMgwbAmTVcyXu',
    tokenId: 'deployment_id_H3CwhLpqjTTt1An8PR7aCw',
  },
}

function encode(name: string | Uint8Array, input: string | Uint8Array): Buffer {
  const head = Buffer.alloc(2)
  const length = Buffer.alloc(4)
  head.writeUInt16BE(Buffer.from(name).length)
  length.writeUInt32BE(Buffer.from(input).length)
  return Buffer.concat([head, Buffer.from(name), length, Buffer.from(input)])
}

interface Served {
  readonly peer: RawPeer
  readonly service: ExecutorService
  /** Sends bytes as data frames of at most `size` bytes, and grants credit for the answers. */
  send(bytes: Uint8Array, size?: number): void
  /** Answers received since the last call. */
  answers(): string[]
  /** Types of the frames, other than ChannelData and ChannelAdjust, that the last call of answers() received. */
  others: string[]
}

function serve(handle: ExecutorHandle, options?: ExecutorOptions, credit = 0xffffff): Served {
  let service: ExecutorService | undefined
  const peer = new RawPeer({
    onRequest: request => {
      service = serveExecutor(request.accept(), handle, options)
    },
  })
  peer.request(1, 'executor', { frames: credit, bytes: credit })
  peer.sent()
  if (service === undefined) throw new Error('not served')
  let rest = Buffer.alloc(0)
  const served: Served = {
    peer,
    service,
    others: [],
    send(bytes, size = 8000) {
      for (let at = 0; at < bytes.length; at += size) {
        peer.sendData(1, Uint8Array.from(bytes.subarray(at, at + size)))
        collect(peer.sent())
      }
    },
    answers() {
      served.others = []
      collect(peer.sentAll())
      const answers: string[] = []
      while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
        const end = 4 + rest.readUInt32BE()
        answers.push(rest.subarray(4, end).toString())
        rest = rest.subarray(end)
      }
      return answers
    },
  }
  function collect(frames: Frame[]): void {
    for (const frame of frames) {
      if (frame.type === 'ChannelData') rest = Buffer.concat([rest, frame.payload])
      else if (frame.type !== 'ChannelAdjust') served.others.push(frame.type)
    }
  }
  return served
}

/** Advances the clock by `ms` milliseconds. The peer answers each Ping. */
function pass({ peer }: Served, ms: number): void {
  for (let passed = 0; passed < ms; passed += 100) {
    peer.clock.advance(100)
    if (peer.sentTypes().includes('Ping')) peer.send({ type: 'Pong' })
  }
}

const echo: ExecutorHandle = (name, input) => okEnvelope({ name, input: Buffer.from(input).toString() })
const later = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('vectors', () => {
  it('answers the request of the protocol with its two answers', () => {
    const served = serve(() => errorEnvelope('Forbidden', 'no'))
    served.peer.sendData(1, GET_ACTOR)
    expect(served.peer.sent()).toMatchObject([
      { type: 'ChannelData', receiverId: 1, payload: Buffer.from(FORBIDDEN) },
    ])
    const device = serve((name, input) => {
      expect(name).toBe('actor_GetActor')
      expect(Buffer.from(input).toString()).toBe('{}')
      return Buffer.from(okEnvelope(DEVICE))
    })
    device.peer.sendData(1, GET_ACTOR)
    const [frame] = device.peer.sent()
    expect(frame?.type === 'ChannelData' && Buffer.from(frame.payload.subarray(0, 4)).toString('hex')).toBe(
      '0000008b',
    )
    expect(frame?.type === 'ChannelData' && frame.payload.length).toBe(143)
  })
})

describe('a handle that answers later', () => {
  it('gets the next request after its answer, which may come at once or in another turn', async () => {
    const calls: ((answer: string) => void)[] = []
    const served = serve((name, _input, call) => {
      if (name === 'now') call.answer(okEnvelope('now'))
      else calls.push(answer => call.answer(answer))
      return undefined
    })
    served.send(Buffer.concat(['later', 'now', 'later', 'now'].map(name => encode(name, '{}'))))
    expect([calls.length, served.answers()]).toEqual([1, []])
    await later()
    calls[0]!(okEnvelope(1))
    expect(served.answers()).toEqual([okEnvelope(1), okEnvelope('now')])
    calls[1]!(okEnvelope(2))
    expect(served.answers()).toEqual([okEnvelope(2), okEnvelope('now')])
  })

  it('may answer after the channel has ended', () => {
    const calls: ((answer: string) => void)[] = []
    const served = serve((_name, _input, call) => {
      calls.push(answer => call.answer(answer))
      return undefined
    })
    served.send(encode('later', '{}'))
    served.peer.send({ type: 'ChannelClose', receiverId: 1, reason: new Uint8Array() })
    calls[0]!(okEnvelope(1))
    expect(served.answers()).toEqual([])
  })
})

describe('requests', () => {
  it('are assembled from arbitrary pieces, pipelined or not', () => {
    const request = fc.record({ name: fc.string({ maxLength: 60 }), input: fc.string({ maxLength: 300 }) })
    fc.assert(
      fc.property(fc.array(request, { maxLength: 8 }), fc.nat(40), (requests, size) => {
        const served = serve(echo)
        served.send(Buffer.concat(requests.map(({ name, input }) => encode(name, input))), size + 1)
        expect(served.answers()).toEqual(
          requests.map(({ name, input }) =>
            okEnvelope({ name: Buffer.from(name).toString(), input: Buffer.from(input).toString() }),
          ),
        )
      }),
      { seed: inject('fuzzSeed'), numRuns: 60 },
    )
  })

  it('of 8 MiB are accepted, and memory is allocated only for bytes that arrived', () => {
    const budget = new ByteBudget(16 * 1024 * 1024)
    let length = 0
    const served = serve(
      (_name, input) => {
        length = input.length
        return '{}'
      },
      { budget },
    )
    const request = encode('x', Buffer.alloc(8 * 1024 * 1024, 0x20))
    served.send(request.subarray(0, 200_000))
    expect(budget.usedBytes).toBeLessThan(400_000)
    served.send(request.subarray(200_000))
    expect(served.answers()).toEqual(['{}'])
    expect(length).toBe(8 * 1024 * 1024)
    expect(budget.usedBytes).toBe(0)
  })

  it('run strictly one after the other', async () => {
    const running: string[] = []
    const finish: (() => void)[] = []
    const served = serve(async name => {
      running.push(name)
      await new Promise<void>(resolve => finish.push(resolve))
      return okEnvelope(name)
    })
    served.send(Buffer.concat([encode('a', ''), encode('b', ''), encode('c', '')]))
    for (const name of ['a', 'b', 'c']) {
      expect(running.at(-1)).toBe(name)
      expect(served.answers()).toEqual([])
      finish.shift()?.()
      await later()
      expect(served.answers()).toEqual([okEnvelope(name)])
    }
  })

  it('with a name that is not UTF-8 are answered Invalid', () => {
    const served = serve(echo)
    served.send(encode(Uint8Array.of(0xff), '{}'))
    served.send(encode('next', '{}'))
    expect(served.answers()).toEqual([
      errorEnvelope('Invalid', 'action name is not valid UTF-8'),
      okEnvelope({ name: 'next', input: '{}' }),
    ])
  })

  it('with unknown names are read completely and passed to `handle`', () => {
    const served = serve(name => errorEnvelope('Invalid', `unknown action: ${name}`))
    served.send(encode('nonsense', 'x'.repeat(100_000)))
    served.send(encode('other', ''))
    expect(served.answers()).toEqual([
      errorEnvelope('Invalid', 'unknown action: nonsense'),
      errorEnvelope('Invalid', 'unknown action: other'),
    ])
  })

  it('over the limits close the channel and not the connection', () => {
    for (const header of [hex('0100'), hex('0001 61 00800001'), hex('0001 61 ffffffff')]) {
      const served = serve(echo)
      served.peer.sendData(1, header)
      expect(served.peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
      expect(served.peer.link.channelCount).toBe(0)
      expect(served.peer.link.isOpen).toBe(true)
    }
  })

  it('must be complete within 30 s of their first byte', () => {
    const served = serve(echo)
    const request = encode('slow', '{}')
    served.peer.send({ type: 'Ping' })
    pass(served, 60_000)
    served.peer.sendData(1, request.subarray(0, 1))
    pass(served, 20_000)
    served.peer.sendData(1, request.subarray(1, 9))
    pass(served, 9_900)
    expect(served.peer.link.channelCount).toBe(1)
    pass(served, 100)
    expect(served.peer.link.channelCount).toBe(0)
    expect(served.peer.link.isOpen).toBe(true)
  })

  it('have no deadline once they are complete', async () => {
    let finish: ((answer: string) => void) | undefined
    const served = serve(
      () =>
        new Promise<string>(resolve => {
          finish = resolve
        }),
    )
    served.peer.sendData(1, GET_ACTOR.subarray(0, 3))
    served.peer.sendData(1, GET_ACTOR.subarray(3))
    pass(served, 60_000)
    finish?.('"done"')
    await later()
    expect(served.answers()).toEqual(['"done"'])
  })

  it('for which the memory budget is exhausted are dropped and answered Internal', () => {
    const budget = new ByteBudget(100_000)
    const served = serve(echo, { budget })
    served.send(encode('large', 'x'.repeat(1_000_000)))
    served.send(encode('small', 'y'.repeat(60_000)))
    const answers = served.answers()
    expect(answers[0]).toBe(errorEnvelope('Internal', 'out of memory for large inputs, try again'))
    expect(answers[1]).toHaveLength(okEnvelope({ name: 'small', input: 'y'.repeat(60_000) }).length)
    expect(budget.usedBytes).toBe(0)
  })

  it('share memory with their parents', () => {
    const parent = new ByteBudget(100)
    const child = new ByteBudget(80, parent)
    expect(parent.take(50)).toBe(true)
    expect(child.take(60)).toBe(false)
    expect(child.take(50)).toBe(true)
    expect(child.take(40)).toBe(false)
    child.release(50)
    expect([parent.usedBytes, child.usedBytes]).toEqual([50, 0])
  })
})

describe('answers', () => {
  it('are Internal without details when `handle` throws or rejects', async () => {
    const errors: unknown[] = []
    const served = serve(
      name => {
        if (name === 'sync') throw new Error('secret')
        return Promise.reject(new Error('secret'))
      },
      { onError: error => errors.push(error) },
    )
    served.send(encode('sync', ''))
    served.send(encode('async', ''))
    await later()
    expect(served.answers()).toEqual([
      errorEnvelope('Internal', 'internal error'),
      errorEnvelope('Internal', 'internal error'),
    ])
    expect(errors).toHaveLength(2)
    const silent = serve(() => Promise.reject(new Error('x')))
    silent.send(encode('a', ''))
    await later()
    expect(silent.answers()).toHaveLength(1)
  })

  it('over 8 MiB become Internal', () => {
    const served = serve(name => Buffer.alloc(8 * 1024 * 1024 + (name === 'over' ? 1 : 0)))
    served.send(encode('over', ''))
    expect(served.answers()).toEqual([errorEnvelope('Internal', 'output over 8 MiB')])
    served.send(encode('fits', ''))
    expect(served.answers()[0]).toHaveLength(8 * 1024 * 1024)
  })

  it('yield to the event loop after 64 requests', async () => {
    let calls = 0
    const served = serve(() => {
      calls++
      return '0'
    })
    served.peer.sendData(1, new Uint8Array(6 * 200))
    for (const expected of [64, 128, 192, 200]) {
      expect(calls).toBe(expected)
      await later()
    }
    expect(served.answers()).toHaveLength(200)
  })

  it('delay the next request until there is room', () => {
    let calls = 0
    const served = serve(
      () => {
        calls++
        return 'x'.repeat(100_000)
      },
      {},
      1000,
    )
    served.send(Buffer.concat([encode('a', ''), encode('b', '')]))
    expect(calls).toBe(1)
    served.peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 100, byteCredit: 90_000 })
    expect(calls).toBe(2)
    served.peer.send({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 100, byteCredit: 200_000 })
    expect(served.answers()).toHaveLength(2)
  })
})

describe('the end', () => {
  const end: Frame = { type: 'ChannelClosed', receiverId: 1, reason: new Uint8Array(0) }
  const stop: Frame = { type: 'ChannelClose', receiverId: 1, reason: new Uint8Array(0) }

  it('R-14: sent by the peer between requests is answered with both ends', async () => {
    const served = serve(echo)
    served.send(encode('a', ''))
    served.answers()
    served.peer.send(end)
    expect(served.peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    await served.service.ended
    expect(served.peer.link.channelCount).toBe(0)
  })

  it('R-14: sent by the peer during an action is answered after the answer of the action', async () => {
    let finish: ((answer: string) => void) | undefined
    const served = serve(
      () =>
        new Promise<string>(resolve => {
          finish = resolve
        }),
    )
    served.send(encode('a', ''))
    served.peer.send(end)
    expect(served.peer.sent()).toEqual([])
    finish?.('"last"')
    await later()
    expect(served.peer.sentTypes()).toEqual(['ChannelData', 'ChannelClosed', 'ChannelClose'])
    await served.service.ended
  })

  it('in the middle of a request closes the channel', () => {
    const served = serve(echo)
    served.peer.sendData(1, GET_ACTOR.subarray(0, 10))
    served.peer.send(end)
    expect(served.peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    expect(served.peer.link.isOpen).toBe(true)
  })

  it('R-13: by ChannelClose alone, as sent by old peers, counts too', async () => {
    let finish: ((answer: string) => void) | undefined
    const served = serve(
      () =>
        new Promise<string>(resolve => {
          finish = resolve
        }),
    )
    served.send(encode('a', ''))
    served.peer.send(stop)
    expect(served.peer.sentTypes()).toEqual(['ChannelClosed', 'ChannelClose'])
    finish?.('"nobody hears"')
    await later()
    expect(served.peer.sent()).toEqual([])
    await served.service.ended
  })

  it('of the link ends the service', async () => {
    const served = serve(echo)
    served.peer.sendData(1, GET_ACTOR.subarray(0, 10))
    served.peer.link.transportClosed()
    await served.service.ended
    let finish: ((answer: string) => void) | undefined
    const busy = serve(
      () =>
        new Promise<string>(resolve => {
          finish = resolve
        }),
    )
    busy.peer.sendData(1, GET_ACTOR)
    busy.peer.link.transportClosed()
    finish?.('"nobody hears"')
    await busy.service.ended
  })

  it('is handled even if it came before the channel was served', async () => {
    const peer = new RawPeer({
      onRequest: request => {
        const channel = request.accept()
        setImmediate(() => serveExecutor(channel, echo))
      },
    })
    peer.request(1, 'executor')
    peer.sendData(1, GET_ACTOR)
    peer.request(2, 'executor')
    peer.send({ type: 'ChannelClose', receiverId: 2, reason: new Uint8Array(0) })
    peer.sent()
    await later()
    expect(peer.sentTypes()).toEqual(['ChannelData', 'ChannelClose'])
    expect(peer.link.channelCount).toBe(1)
  })
})

describe('a peer that sends requests on every channel and does not read', () => {
  const ask = (
    handle: () => string | Promise<string>,
  ): { peer: RawPeer; begun: () => number; queuedBytes: () => number } => {
    const channels: Channel[] = []
    let begun = 0
    const peer = new RawPeer({
      onRequest: request => {
        const channel = request.accept()
        channels.push(channel)
        serveExecutor(channel, () => {
          begun++
          return handle()
        })
      },
    })
    for (let id = 1; id <= 32; id++) peer.request(id, 'executor')
    for (let id = 1; id <= 32; id++) peer.sendData(id, GET_ACTOR)
    return {
      peer,
      begun: () => begun,
      queuedBytes: () => channels.reduce((sum, { queuedBytes }) => sum + queuedBytes, 0),
    }
  }

  it('causes no further answers when 256 KiB are queued, and is closed with code 1013 after 30 s (R7)', () => {
    const { peer, begun, queuedBytes } = ask(() => 'x'.repeat(100_000))
    peer.sent()
    expect(begun()).toBe(4)
    expect(queuedBytes()).toBeLessThan(256 * 1024 + 100_000)
    // The peer answers Pings, so the link is alive, but the peer reads no answers.
    for (let ms = 0; ms < 29_000; ms += 1000) {
      peer.clock.advance(1000)
      if (peer.sent().some(({ type }) => type === 'Ping')) peer.send({ type: 'Pong' })
    }
    expect(peer.link.isOpen).toBe(true)
    peer.clock.advance(1100)
    expect(peer.link.end).toEqual({ kind: 'ConsumerTooSlow', reason: 'the peer takes no answers' })
    expect(peer.sent().at(-1)).toMatchObject({ type: 'Close' })
    expect(peer.transport.closeCode).toBe(1013)
  })

  it('gets every answer when it reads later, and does not block other channels', () => {
    const { peer, begun, queuedBytes } = ask(() => 'x'.repeat(100_000))
    let received = 0
    for (let round = 0; round < 1000 && received < 32 * 100_004; round++) {
      for (const frame of peer.sentAll()) if (frame.type === 'ChannelData') received += frame.payload.length
      for (let id = 1; id <= 32; id++)
        peer.send({ type: 'ChannelAdjust', receiverId: id, frameCredit: 1, byteCredit: 10_000 })
    }
    expect(begun()).toBe(32)
    expect(received).toBe(32 * 100_004)
    expect(queuedBytes()).toBe(0)
    expect(peer.link.isOpen).toBe(true)
  })

  it('is disconnected at once when concurrent answers exceed the queue limit', async () => {
    const { peer } = ask(() => Promise.resolve('x'.repeat(8 * 1024 * 1024)))
    expect(await peer.link.ended).toMatchObject({ kind: 'ConsumerTooSlow' })
    expect(peer.transport.closeCode).toBe(1013)
  })
})

it('a peer that does not read its forwards still gets its answers', () => {
  const held: Channel[] = []
  const peer = new RawPeer({
    onRequest: request => {
      const channel = request.accept()
      if (request.endpoint === 'executor') serveExecutor(channel, () => '{}')
      else held.push(channel)
    },
  })
  for (let id = 1; id <= 16; id++) peer.request(id, 'forward')
  for (const channel of held) while (channel.tryWrite(new Uint8Array(30_000))) {}
  const queuedBytes = held.reduce((sum, channel) => sum + channel.queuedBytes, 0)
  expect(queuedBytes).toBeGreaterThan(256 * 1024)
  expect(queuedBytes).toBeLessThan(256 * 1024 + 16 * 30_000)
  peer.request(17, 'executor')
  peer.sentAll()
  peer.sendData(17, GET_ACTOR)
  expect(peer.sentTypes()).toEqual(['ChannelData'])
})
