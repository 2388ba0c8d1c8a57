import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { FrameError } from './errors.ts'
import { decodeFrame, encodeFrame, type Frame, MAGIC } from './frames.ts'

const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value))
const none = new Uint8Array(0)

// The test vectors of docs/protocol.md 2.12.
const VECTORS: readonly [name: string, hex: string, frame: Frame][] = [
  ['Hello', '00 1b1b2e86 2ccdf49d 526de30d a7abe18c', { type: 'Hello', magic: MAGIC, info: none }],
  ['Ping', '20', { type: 'Ping' }],
  ['Pong', '21', { type: 'Pong' }],
  ['Close', 'ff', { type: 'Close', reason: none }],
  [
    'ChannelRequest of an executor',
    '10 0000000000000001 00000080 00004000 6578656375746f72',
    { type: 'ChannelRequest', senderId: 1, frameCredit: 128, byteCredit: 16384, endpoint: text('executor') },
  ],
  [
    'ChannelAccept',
    '11 0000000000000001 0000000000000001 00000080 00004000',
    { type: 'ChannelAccept', receiverId: 1, senderId: 1, frameCredit: 128, byteCredit: 16384 },
  ],
  [
    'ChannelRequest of a forward',
    '10 0000000000000002 00000080 00004000 666f72776172642f7463702f3830',
    {
      type: 'ChannelRequest',
      senderId: 2,
      frameCredit: 128,
      byteCredit: 16384,
      endpoint: text('forward/tcp/80'),
    },
  ],
  [
    'ChannelReject',
    '12 0000000000000002 756e6b6e6f776e20656e64706f696e74',
    { type: 'ChannelReject', receiverId: 2, reason: text('unknown endpoint') },
  ],
  [
    'ChannelData',
    '13 0000000000000001 000e 6163746f725f4765744163746f72 00000002 7b7d',
    { type: 'ChannelData', receiverId: 1, payload: text('\0\x0eactor_GetActor\0\0\0\x02{}') },
  ],
  [
    'ChannelAdjust',
    '14 0000000000000001 00000002 00002328',
    { type: 'ChannelAdjust', receiverId: 1, frameCredit: 2, byteCredit: 9000 },
  ],
  ['ChannelClose', '15 0000000000000005', { type: 'ChannelClose', receiverId: 5, reason: none }],
  ['ChannelClosed', '17 0000000000000005', { type: 'ChannelClosed', receiverId: 5, reason: none }],
]

const plain = (frame: Frame): object =>
  Object.fromEntries(
    Object.entries(frame).map(([key, value]) => [
      key,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ]),
  )

describe('frame vectors', () => {
  it.each(VECTORS)('encodes and decodes %s', (_name, hex, frame) => {
    const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
    expect(Buffer.from(encodeFrame(frame)).toString('hex')).toBe(bytes.toString('hex'))
    expect(plain(decodeFrame(bytes))).toEqual(plain(frame))
  })
})

describe('decodeFrame', () => {
  it('refuses frames below the minimum of their tag', () => {
    const minimum = [
      [0x00, 17],
      [0xff, 1],
      [0x10, 17],
      [0x11, 25],
      [0x12, 9],
      [0x13, 9],
      [0x14, 17],
      [0x15, 9],
      [0x17, 9],
      [0x20, 1],
      [0x21, 1],
    ] as const
    for (const [tag, length] of minimum) {
      const frame = new Uint8Array(length)
      frame[0] = tag
      expect(() => decodeFrame(frame)).not.toThrow()
      if (length > 1) expect(() => decodeFrame(frame.subarray(0, length - 1))).toThrow(FrameError)
    }
    expect(() => decodeFrame(new Uint8Array(0))).toThrow('frame too short')
  })

  it('refuses unknown tags, 0x16 among them', () => {
    const known = new Set([0x00, 0xff, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x17, 0x20, 0x21])
    for (let tag = 0; tag < 256; tag++) {
      const frame = new Uint8Array(32)
      frame[0] = tag
      if (!known.has(tag)) expect(() => decodeFrame(frame), `tag ${tag}`).toThrow('unknown frame tag')
    }
  })

  it('ignores bytes after a frame of fixed size', () => {
    expect(decodeFrame(Uint8Array.of(0x20, 1, 2, 3))).toEqual({ type: 'Ping' })
    const adjust = Buffer.concat([
      encodeFrame({ type: 'ChannelAdjust', receiverId: 3, frameCredit: 1, byteCredit: 2 }),
      Buffer.from('rest'),
    ])
    expect(decodeFrame(adjust)).toEqual({
      type: 'ChannelAdjust',
      receiverId: 3,
      frameCredit: 1,
      byteCredit: 2,
    })
  })

  it('refuses ids that a number cannot hold', () => {
    const frame = encodeFrame({ type: 'ChannelClose', receiverId: Number.MAX_SAFE_INTEGER, reason: none })
    expect(decodeFrame(frame)).toMatchObject({ receiverId: Number.MAX_SAFE_INTEGER })
    frame[1] = 0x80
    expect(() => decodeFrame(frame)).toThrow('channel id out of range')
  })

  it('decodes every encoded frame', () => {
    const id = fc.maxSafeNat()
    const u32 = fc.nat(0xffffffff)
    const bytes = fc.uint8Array({ maxLength: 64 })
    const frames: fc.Arbitrary<Frame> = fc.oneof(
      fc.record({ type: fc.constant('Hello'), magic: fc.constant(MAGIC), info: bytes }),
      fc.record({ type: fc.constant('Close'), reason: bytes }),
      fc.record({
        type: fc.constant('ChannelRequest'),
        senderId: id,
        frameCredit: u32,
        byteCredit: u32,
        endpoint: bytes,
      }),
      fc.record({
        type: fc.constant('ChannelAccept'),
        receiverId: id,
        senderId: id,
        frameCredit: u32,
        byteCredit: u32,
      }),
      fc.record({ type: fc.constant('ChannelReject'), receiverId: id, reason: bytes }),
      fc.record({ type: fc.constant('ChannelData'), receiverId: id, payload: bytes }),
      fc.record({ type: fc.constant('ChannelAdjust'), receiverId: id, frameCredit: u32, byteCredit: u32 }),
      fc.record({ type: fc.constant('ChannelClose'), receiverId: id, reason: bytes }),
      fc.record({ type: fc.constant('ChannelClosed'), receiverId: id, reason: bytes }),
    )
    fc.assert(
      fc.property(frames, frame => {
        expect(plain(decodeFrame(encodeFrame(frame)))).toEqual(plain(frame))
      }),
      { seed: inject('fuzzSeed') },
    )
  })
})
