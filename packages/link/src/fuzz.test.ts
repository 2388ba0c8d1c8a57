import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { encodeRequest } from './executor-format.ts'
import { serveExecutor } from './executor-server.ts'
import { encodeFrame } from './frames.ts'
import { Link } from './link.ts'
import { fuzzLinks, liveBytes, seededRandom } from './testing/fuzz.ts'
import { ManualClock } from './testing/manual-clock.ts'
import { HELLO } from './testing/raw-peer.ts'

// Invalid bytes end only the link that receives them. They cause no exception, no unhandled rejection and no memory growth.

const rejections: unknown[] = []
const onRejection = (reason: unknown): void => void rejections.push(reason)
beforeAll(() => process.on('unhandledRejection', onRejection))
afterAll(() => process.off('unhandledRejection', onRejection))

const SEED = inject('fuzzSeed')

it(`survives a million mutated frames (seed ${SEED})`, { timeout: 60_000 }, async () => {
  let liveAfterTenth = 0
  const { links, ends } = await fuzzLinks(1_000_000, SEED, number => {
    if (number === 100_000) liveAfterTenth = liveBytes()
  })
  expect(liveBytes() - liveAfterTenth).toBeLessThan(5 * 1024 * 1024)
  expect(rejections).toEqual([])
  expect(links).toBeGreaterThan(10_000)
  // Some links must have ended for each of these reasons. This proves that mutated frames get past the first checks.
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

/** A request for an executor channel. */
const REQUEST = encodeFrame({
  type: 'ChannelRequest',
  senderId: 1,
  frameCredit: 128,
  byteCredit: 16384,
  endpoint: Buffer.from('executor'),
})

it('survives executor streams that were cut, mixed and damaged', { timeout: 60_000 }, async () => {
  const random = seededRandom(SEED)
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
    link.receive(encodeFrame(HELLO))
    link.receive(REQUEST)
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
