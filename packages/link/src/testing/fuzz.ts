import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { okEnvelope } from '../envelope.ts'
import { ExecutorClient } from '../executor-client.ts'
import { encodeRequest } from '../executor-format.ts'
import { serveExecutor } from '../executor-server.ts'
import { decodeFrame, encodeFrame, type Frame, MAGIC } from '../frames.ts'
import { Link } from '../link.ts'
import type { ChannelRequest } from '../request.ts'
import { ManualClock } from './manual-clock.ts'

const none = new Uint8Array(0)
const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value))

/** Returns a random integer from 0 to below the bound. */
export type Random = (below: number) => number

/** A small xorshift generator with a seed, so that a failure can be repeated. */
export function seededRandom(seed: number): Random {
  // With state 0 the generator would only produce 0.
  let state = seed | 0 || 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

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

// Indexes in `CORPUS` of frames that a link usually survives: Pings, requests, data, Adjusts and ends of a direction.
const HARMLESS = [1, 4, 5, 6, 9, 9, 10, 10, 11, 11, 13, 14, 15, 16, 17]

/**
 * Returns a random frame, often damaged. With `isGentle` most frames are harmless, so that links live long enough to build up
 * state.
 */
export function mutatedFrame(random: Random, isGentle: boolean): Uint8Array {
  const index = isGentle && random(50) > 0 ? HARMLESS[random(HARMLESS.length)]! : random(CORPUS.length)
  const frame = Uint8Array.from(CORPUS[index]!)
  const kind = isGentle && random(20) > 0 ? 0 : random(10)
  if (kind < 4) return frame
  if (kind < 7) frame[random(Math.min(frame.length, 26))] = random(256)
  // Byte 8 is the lowest byte of the channel id in most frames. A small id often belongs to an open channel.
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

/** Bytes of live heap objects after a garbage collection. */
export function liveBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  // Array buffers are freed later on another thread, so only the objects that hold them are counted.
  return process.memoryUsage().heapUsed
}

/**
 * Feeds `count` mutated frames to in-memory links, with a new link after each end. Resolves to the number of links and the
 * reasons of their ends. Calls `onFrame` with the index of every thousandth frame.
 */
export async function fuzzLinks(
  count: number,
  seed: number,
  onFrame: (number: number) => void = () => {},
): Promise<{ links: number; ends: Map<string, number> }> {
  const random = seededRandom(seed)
  const clock = new ManualClock()
  const ends = new Map<string, number>()
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
  for (let i = 0; i < count; i++) {
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
    link.receive(mutatedFrame(random, links % 2 === 0))
    if (i % 8 === 0) clock.advance(100)
    if (i % 1000 !== 0) continue
    // Lets pending promises settle. Otherwise they would pile up and make the memory grow.
    await new Promise(resolve => setImmediate(resolve))
    onFrame(i)
  }
  link?.close()
  await new Promise(resolve => setImmediate(resolve))
  return { links, ends }
}
