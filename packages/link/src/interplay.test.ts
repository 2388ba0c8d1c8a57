import fc from 'fast-check'
import { expect, inject, it } from 'vitest'
import type { Channel } from './channel.ts'
import { Link } from './link.ts'
import type { LinkOptions } from './link-options.ts'
import { type LegacyChannel, LegacyPeer } from './testing/legacy-peer.ts'
import { ManualClock } from './testing/manual-clock.ts'
import { inMemoryTransportPair, PROBE } from './testing/memory-transport.ts'

// Two links run random operations over a connection that delays and stalls at random. No byte may be lost, duplicated or
// reordered, and no stream may be stuck at the end.

const CYCLE = 65_521
const PATTERN = Buffer.alloc(CYCLE + 70_000)
for (let i = 0, state = 1; i < CYCLE; i++) {
  state = (state * 48_271) % 0x7fffffff
  PATTERN[i] = state
}
PATTERN.copy(PATTERN, CYCLE, 0, 70_000)

/** Bytes from `position` of the endless sequence that is sent on every stream. */
const pattern = (position: number, length: number): Buffer => {
  const start = position % CYCLE
  return PATTERN.subarray(start, start + length)
}

// Stalls in this test last longer than the default timeouts of a link.
const LONG_TIMEOUTS = { flushMs: 3_600_000, requestDecisionMs: 3_600_000 }

/** Counts of the bytes written and received in one direction of one channel. */
class Stream {
  readonly name: string
  written = 0
  received = 0
  /** True once the writer has called end(). */
  hasEnded = false
  /** True once the reader has seen the end. */
  hasSeenEnd = false
  /** True if a side closed early, so that some bytes need not arrive. */
  isBroken = false
  mayWrite = true

  constructor(name: string) {
    this.name = name
  }

  write(channel: Channel, length: number): void {
    if (!channel.canWrite || !this.mayWrite) return
    this.mayWrite = channel.tryWrite(Uint8Array.from(pattern(this.written, length)))
    this.written += length
    channel.onWritable = () => {
      this.mayWrite = true
    }
  }

  take(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; at += 60_000) {
      const part = piece.subarray(at, at + 60_000)
      if (Buffer.compare(pattern(this.received, part.length), part) !== 0) {
        throw new Error(`${this.name}: wrong bytes at ${this.received}`)
      }
      this.received += part.length
    }
    if (this.received > this.written) throw new Error(`${this.name}: more bytes than written`)
  }

  read(channel: Channel, pieces: number): void {
    for (let i = 0; i < pieces; i++) {
      const piece = channel.tryRead()
      if (piece === undefined) return
      if (piece === null) {
        if (!this.hasEnded && !this.isBroken) throw new Error(`${this.name}: ended by itself`)
        this.hasSeenEnd = true
        return
      }
      this.take(piece)
    }
  }

  check(): void {
    if (!this.isBroken && (this.received !== this.written || !this.hasSeenEnd)) {
      throw new Error(`${this.name}: ${this.received} of ${this.written}, end ${this.hasSeenEnd}`)
    }
  }
}

/** A channel between the two links: its end at each link, and one stream for each direction. */
interface Pipe {
  near: Channel | undefined
  far: Channel | undefined
  readonly there: Stream
  readonly back: Stream
}

const step = fc.tuple(fc.nat(99), fc.nat(0xffff), fc.nat(0xffff))

async function interplay(
  steps: readonly [number, number, number][],
  limits: LinkOptions['limits'],
  areKnown: boolean,
): Promise<void> {
  const clock = new ManualClock()
  const transports = inMemoryTransportPair({ isManual: true })
  // Without their marks the links do not know each other's generation for 5 s.
  for (const transport of [transports.a, transports.b]) transport.isMarkHidden = !areKnown
  const pipes: Pipe[] = []
  const onRequest: LinkOptions['onRequest'] = request => {
    const pipe = pipes[Number(request.endpoint)]
    if (pipe !== undefined) pipe.far = request.accept()
  }
  const options: LinkOptions = {
    clock,
    onRequest,
    limits: { ...limits, ...LONG_TIMEOUTS },
    pongTimeoutMs: 3_600_000,
  }
  const links = [new Link(transports.a, options), new Link(transports.b, options)] as const
  transports.connect(...links)
  const open = (link: Link): void => {
    const index = pipes.length
    const pipe: Pipe = {
      near: undefined,
      far: undefined,
      there: new Stream(`${index} there`),
      back: new Stream(`${index} back`),
    }
    pipes.push(pipe)
    link.open(String(index), { timeoutMs: 3_600_000 }).then(
      channel => {
        pipe.near = channel
      },
      () => {},
    )
  }
  if (areKnown) {
    transports.flush()
    for (const link of links) expect(link.peerAge).toBe('Current')
  }
  open(links[0])
  open(links[1])
  for (const [kind, where, amount] of steps) {
    const pipe = pipes[where % pipes.length]!
    const isNear = (where >> 8) % 2 === 0
    const channel = isNear ? pipe.near : pipe.far
    const [outward, inward] = isNear ? [pipe.there, pipe.back] : [pipe.back, pipe.there]
    if (kind < 30) {
      if (channel) outward.write(channel, amount % (kind < 5 ? 60_000 : kind < 15 ? 3000 : 40))
    } else if (kind < 50) {
      if (channel) inward.read(channel, (amount % 5) + 1)
    } else if (kind < 80) {
      const transport = kind % 2 === 0 ? transports.a : transports.b
      transport.deliver(amount % 12)
      await Promise.resolve()
    } else if (kind < 86) {
      clock.advance((amount % 4) * 400)
    } else if (kind < 90) {
      if (pipes.length < 12) open(links[where % 2]!)
    } else if (kind < 95) {
      if (channel?.canWrite) {
        channel.end()
        outward.hasEnded = true
      }
    } else if (kind < 97) {
      // A link that does not know the peer's generation takes ChannelClose followed by 300 ms without data as the end of the
      // data (docs/protocol.md 1.7). This side therefore stops reading only if both links know the generation of their peer.
      if (channel && areKnown) {
        inward.isBroken = true
        channel.stopReading()
      }
    } else if (kind < 98) {
      if (channel) {
        inward.isBroken = true
        outward.isBroken = true
        channel.close()
      }
    }
    if (!links[0].isOpen || !links[1].isOpen) throw new Error(JSON.stringify([links[0].end, links[1].end]))
  }
  // End every channel that is still open. All bytes must arrive within 2000 iterations of this loop.
  for (let round = 0; round < 2000; round++) {
    transports.flush()
    await Promise.resolve()
    if (round % 10 === 9) clock.advance(100)
    let isQuiet = transports.a.pending.length + transports.b.pending.length === 0
    for (const { near, far, there, back } of pipes) {
      if (near === undefined || far === undefined) {
        isQuiet = false
        continue
      }
      for (const [writer, stream] of [
        [near, there],
        [far, back],
      ] as const) {
        if (writer.canWrite) {
          writer.end()
          stream.hasEnded = true
        }
      }
      there.read(far, 1000)
      back.read(near, 1000)
    }
    isQuiet &&= links[0].channelCount + links[1].channelCount === 0
    if (isQuiet) break
  }
  for (const { there, back } of pipes) {
    there.check()
    back.check()
  }
  expect([links[0].end, links[1].end]).toEqual([undefined, undefined])
  expect([links[0].channelCount, links[1].channelCount]).toEqual([0, 0])
  links[0].close()
  links[1].close()
}

it('two links never lose, duplicate, reorder or withhold a byte', { timeout: 30_000 }, async () => {
  const limits = fc.constantFrom<LinkOptions['limits'][]>(
    undefined,
    { transportBufferBytes: 100, channelHighWaterBytes: 1000 },
    { maxOpenedChannels: 2, maxReceiveFrames: 128, maxReceiveBytes: 16_384 },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 500, size: 'max' }),
      limits,
      fc.boolean(),
      interplay,
    ),
    { seed: inject('fuzzSeed'), numRuns: 150, interruptAfterTimeLimit: 15_000 },
  )
})

it('a link and an old peer never lose, duplicate, reorder or withhold a byte', {
  timeout: 30_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 400, size: 'max' }), withLegacyPeer),
    { seed: inject('fuzzSeed'), numRuns: 100, interruptAfterTimeLimit: 10_000 },
  )
})

interface LegacyPipe {
  ours: Channel | undefined
  theirs: LegacyChannel | undefined
  readonly out: Stream
  readonly in: Stream
}

async function withLegacyPeer(steps: readonly [number, number, number][]): Promise<void> {
  const clock = new ManualClock()
  const peer = new LegacyPeer()
  const pipes: LegacyPipe[] = []
  const accepted: Channel[] = []
  const transport = inMemoryTransportPair({ isManual: true }).a
  const link = new Link(transport, {
    clock,
    onRequest: request => accepted.push(request.accept()),
    limits: LONG_TIMEOUTS,
    pongTimeoutMs: 3_600_000,
  })
  const deliver = (out: number, incoming: number): void => {
    for (const message of transport.take(out)) {
      if (message === PROBE) link.probed()
      else peer.receive(message)
    }
    link.drained()
    for (const message of peer.sent.splice(0, incoming)) link.receive(message)
    // Completes the pipes. A channel that the link accepted is the other end of the pipe that has only `theirs`. A new channel of the peer
    // is the other end of the pipe that has no `theirs`.
    for (const channel of accepted.splice(0)) {
      const pipe = pipes.find(each => each.theirs !== undefined && each.ours === undefined)
      if (pipe !== undefined) pipe.ours = channel
    }
    for (const channel of peer.channels.values()) {
      if (pipes.some(each => each.theirs === channel)) continue
      const pipe = pipes.find(each => each.theirs === undefined)
      if (pipe !== undefined) pipe.theirs = channel
    }
  }
  const newPipe = (): LegacyPipe => {
    const pipe: LegacyPipe = {
      ours: undefined,
      theirs: undefined,
      out: new Stream(`${pipes.length} out`),
      in: new Stream(`${pipes.length} in`),
    }
    pipes.push(pipe)
    return pipe
  }
  const readTheirs = (pipe: LegacyPipe, count: number): void => {
    for (let i = 0; i < count && pipe.theirs !== undefined; i++) {
      const piece = peer.read(pipe.theirs)
      if (piece === undefined) break
      pipe.out.take(piece)
    }
    if (pipe.theirs?.hasPeerEnded) pipe.out.hasSeenEnd = true
  }
  const endTheirs = (pipe: LegacyPipe): void => {
    const { theirs } = pipe
    if (theirs === undefined || theirs.hasEnded || theirs.outbox.length > 0 || !theirs.isAccepted) return
    pipe.in.hasEnded = true
    peer.end(theirs)
  }
  deliver(10, 10)
  expect(link.peerAge).toBe('Legacy')
  newPipe().theirs = peer.open('x')
  for (const [kind, where, amount] of steps) {
    const pipe = pipes[where % pipes.length]!
    if (kind < 15) {
      if (pipe.ours) pipe.out.write(pipe.ours, amount % (kind < 5 ? 50_000 : 600))
    } else if (kind < 30) {
      if (pipe.theirs && !pipe.theirs.hasEnded) {
        const length = amount % (kind < 20 ? 50_000 : 600)
        peer.write(pipe.theirs, pattern(pipe.in.written, length))
        pipe.in.written += length
      }
    } else if (kind < 45) {
      if (pipe.ours) pipe.in.read(pipe.ours, (amount % 5) + 1)
    } else if (kind < 60) {
      readTheirs(pipe, amount % 5)
    } else if (kind < 85) {
      deliver(amount % 9, (amount >> 4) % 9)
      await Promise.resolve()
    } else if (kind < 88) {
      // Legacy peers must read their data within the delay before ChannelClosed.
      for (const each of pipes) readTheirs(each, 1000)
      clock.advance((amount % 4) * 400)
    } else if (kind < 91) {
      // Open one channel at a time, so that its two ends can be matched.
      if (pipes.length < 6 && pipes.every(each => each.ours && each.theirs)) {
        const fresh = newPipe()
        if (where % 2 === 0) fresh.theirs = peer.open('x')
        else void link.open('x').then(channel => (fresh.ours = channel))
      }
    } else if (kind < 95) {
      if (pipe.ours?.canWrite && !pipe.out.hasEnded) {
        pipe.out.hasEnded = true
        pipe.ours.end()
      }
    } else if (kind < 99) {
      endTheirs(pipe)
    } else if (pipe.theirs?.isAccepted && pipe.ours) {
      pipe.in.isBroken = true
      pipe.out.isBroken = true
      peer.drop(pipe.theirs)
    }
    if (!link.isOpen) throw new Error(JSON.stringify(link.end))
  }
  for (let round = 0; round < 3000; round++) {
    deliver(1000, 1000)
    await Promise.resolve()
    for (const pipe of pipes) {
      readTheirs(pipe, 1000)
      if (pipe.ours) pipe.in.read(pipe.ours, 1000)
      endTheirs(pipe)
      if (pipe.ours?.canWrite) {
        pipe.out.hasEnded = true
        pipe.ours.end()
      }
    }
    clock.advance(20)
    if (link.channelCount === 0 && pipes.every(each => each.ours) && transport.pending.length === 0) break
  }
  for (const pipe of pipes) {
    readTheirs(pipe, 1)
    pipe.in.check()
    pipe.out.check()
  }
  expect(peer.discardedBytes).toBe(0)
  expect(link.channelCount).toBe(0)
  expect(link.end).toBeUndefined()
  link.close()
}
