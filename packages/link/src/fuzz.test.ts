import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { okEnvelope } from './envelope.ts'
import { ExecutorClient } from './executor-client.ts'
import { encodeRequest } from './executor-format.ts'
import { serveExecutor } from './executor-server.ts'
import { decodeFrame, encodeFrame, type Frame, MAGIC } from './frames.ts'
import { Link } from './link.ts'
import type { ChannelRequest } from './request.ts'
import { ManualClock } from './testing/manual-clock.ts'

// Junk ends one link and nothing else: no exception, no unhandled rejection, no growing memory.

const none = new Uint8Array(0)
const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value))

/** A small generator with a seed, so that a failure can be repeated. */
function generator(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** Memory in use once garbage is gone. */
function liveBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  // Array buffers are freed some time later, on another thread; the objects that hold them are counted here.
  return process.memoryUsage().heapUsed
}

const rejections: unknown[] = []
const onRejection = (reason: unknown): void => void rejections.push(reason)
beforeAll(() => process.on('unhandledRejection', onRejection))
afterAll(() => process.off('unhandledRejection', onRejection))

const HELLO = encodeFrame({ type: 'Hello', magic: MAGIC, info: none })
const CORPUS: Uint8Array[] = [
  HELLO,
  ...(
    [
      { type: 'Ping' },
      { type: 'Pong' },
      { type: 'Close', reason: text('bye') },
      {
        type: 'ChannelRequest',
        senderId: 1,
        frameCredit: 128,
        byteCredit: 16384,
        endpoint: text('executor'),
      },
      { type: 'ChannelRequest', senderId: 2, frameCredit: 9, byteCredit: 900, endpoint: text('echo') },
      { type: 'ChannelRequest', senderId: 3, frameCredit: 128, byteCredit: 16384, endpoint: text('silent') },
      { type: 'ChannelAccept', receiverId: 1, senderId: 1, frameCredit: 128, byteCredit: 16384 },
      { type: 'ChannelReject', receiverId: 1, reason: text('connection channel limit reached') },
      { type: 'ChannelData', receiverId: 2, payload: encodeRequest('devices_PublishEvents', '{}') },
      { type: 'ChannelData', receiverId: 3, payload: new Uint8Array(60) },
      { type: 'ChannelData', receiverId: 4, payload: new Uint8Array(3000).fill(0x61) },
      { type: 'ChannelData', receiverId: 1, payload: text('\0\0\0\x02{}') },
      { type: 'ChannelAdjust', receiverId: 2, frameCredit: 2, byteCredit: 9000 },
      { type: 'ChannelAdjust', receiverId: 3, frameCredit: 1, byteCredit: 0xfffffff },
      { type: 'ChannelClose', receiverId: 2, reason: none },
      { type: 'ChannelClosed', receiverId: 3, reason: text('why') },
      { type: 'ChannelClosed', receiverId: 2, reason: none },
    ] satisfies Frame[]
  ).map(frame => encodeFrame(frame)),
]

// Requests, data, Adjusts and ends: frames that a link usually survives.
const HARMLESS = [1, 4, 5, 6, 9, 9, 10, 10, 11, 11, 13, 14, 15, 16, 17]

/** A frame, often damaged; `isGentle` lets links live long enough to have much state. */
function mutate(random: (below: number) => number, isGentle: boolean): Uint8Array {
  const index = isGentle && random(50) > 0 ? HARMLESS[random(HARMLESS.length)]! : random(CORPUS.length)
  const frame = Uint8Array.from(CORPUS[index]!)
  const kind = isGentle && random(20) > 0 ? 0 : random(10)
  if (kind < 4) return frame
  if (kind < 7) frame[random(Math.min(frame.length, 26))] = random(256)
  // Ids and credits are where small changes still mean something.
  if (kind === 7 && frame.length > 8) frame[8] = random(6)
  if (kind === 8) return frame.subarray(0, random(frame.length + 1))
  if (kind === 9) return Uint8Array.from({ length: random(40) }, () => random(256))
  return frame
}

function onRequest(request: ChannelRequest): void {
  switch (request.endpoint) {
    case 'executor':
      serveExecutor(request.accept(), (name, input) => okEnvelope({ name, size: input.length }))
      break
    case 'echo': {
      const channel = request.accept()
      channel.onReadable = () => {
        for (let piece = channel.tryRead(); piece; piece = channel.tryRead()) channel.tryWrite(piece)
      }
      break
    }
    case 'silent':
      request.accept()
      break
    default:
      request.reject('unknown endpoint')
  }
}

it('survives a million mutated frames', { timeout: 60_000 }, async () => {
  const random = generator(0x5eed)
  const clock = new ManualClock()
  const ends = new Map<string, number>()
  let liveAfterTenth = 0
  let links = 0
  let sent = 0
  let link: Link | undefined
  const transport = {
    bufferedBytes: 0,
    send: (message: Uint8Array) => {
      if (sent++ % 16 === 0) decodeFrame(message)
    },
    close: () => {},
  }
  for (let i = 0; i < 1_000_000; i++) {
    if (link === undefined || !link.isOpen) {
      if (link?.end) ends.set(link.end.reason, (ends.get(link.end.reason) ?? 0) + 1)
      link = new Link(transport, { clock, onRequest })
      if (links++ % 20 !== 0) link.receive(HELLO)
      link.open('executor').then(
        channel => {
          const client = new ExecutorClient(channel)
          client.invoke('x', {}).catch(() => {})
        },
        () => {},
      )
    }
    link.receive(mutate(random, links % 2 === 0))
    if (i % 8 === 0) clock.advance(100)
    // Promises need their turn, or they would be the memory that grows.
    if (i % 1000 === 0) await new Promise(resolve => setImmediate(resolve))
    if (i === 100_000) liveAfterTenth = liveBytes()
  }
  link?.close()
  await new Promise(resolve => setImmediate(resolve))
  expect(liveBytes() - liveAfterTenth).toBeLessThan(5 * 1024 * 1024)
  expect(rejections).toEqual([])
  expect(links).toBeGreaterThan(10_000)
  // The mutations reach behind the first checks.
  for (const reason of [
    'the first frame is no Hello',
    'unknown frame tag',
    'frame too short',
    'channel id out of range',
    'second Hello',
    'pong without ping',
    'credit exceeded',
    'credit overflow',
    'accept without request',
    'reject without request',
    'channel id 0',
    'bye',
  ]) {
    expect(ends.get(reason), reason).toBeGreaterThan(0)
  }
  expect([...ends.keys()]).not.toContain('internal error')
})

it('survives executor streams that were cut, mixed and damaged', { timeout: 60_000 }, async () => {
  const random = generator(0xbad5eed)
  const clock = new ManualClock()
  const answered = { count: 0, closed: 0 }
  for (let round = 0; round < 3000; round++) {
    const transport = { bufferedBytes: 0, send: () => {}, close: () => {} }
    let ended = 0
    const link = new Link(transport, {
      clock,
      onRequest: request => {
        const service = serveExecutor(request.accept(), (name, input) => {
          answered.count++
          if (name.length > 255 || input.length > 8 * 1024 * 1024) throw new Error('limits')
          return random(3) === 0 ? Promise.resolve('{}') : '{}'
        })
        void service.ended.then(() => ended++)
      },
    })
    link.receive(HELLO)
    link.receive(CORPUS[4]!)
    for (let message = 0; message < 5; message++) {
      const stream = Buffer.concat([
        encodeRequest('a'.repeat(random(300) % 256), 'b'.repeat(random(2000))),
        encodeRequest('x', '{}'),
      ])
      if (random(2) === 0) stream[random(stream.length)] = random(256)
      for (let at = 0; at < stream.length; ) {
        const size = 1 + random(700)
        const payload = stream.subarray(at, at + size)
        link.receive(encodeFrame({ type: 'ChannelData', receiverId: 1, payload }))
        link.receive(encodeFrame({ type: 'ChannelAdjust', receiverId: 1, frameCredit: 1, byteCredit: 1 }))
        at += size
      }
      await Promise.resolve()
    }
    if (link.channelCount === 0) answered.closed++
    if (random(2) === 0) clock.advance(31_000)
    link.close()
    await new Promise(resolve => setImmediate(resolve))
    expect(ended).toBe(1)
  }
  expect(answered.count).toBeGreaterThan(3000)
  expect(answered.closed).toBeGreaterThan(50)
  expect(rejections).toEqual([])
})
