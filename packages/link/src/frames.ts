import { allocate } from './bytes.ts'
import { FrameError } from './errors.ts'

/** The 16 fixed bytes at the start of every Hello (docs/protocol.md 2.2). */
export const MAGIC: Uint8Array = Uint8Array.from([
  27, 27, 46, 134, 44, 205, 244, 157, 82, 109, 227, 13, 167, 171, 225, 140,
])

/** Sizes in bytes, and credits in bytes and frames (docs/protocol.md 2.5, 2.10). Only `chunkBytes` is a choice of this implementation. */
export const FRAME = {
  /** Longest frame that peers accept, in bytes: 1 MiB of payload and the header. */
  maxBytes: 1024 * 1024 + 9,
  /** Longest payload of one ChannelData frame. */
  maxPayloadBytes: 1024 * 1024,
  /**
   * Longest payload that this side puts into one ChannelData frame, so that channels share the link fairly. The payload,
   * the frame header (9 bytes) and the header of a masked WebSocket message (8 bytes) fill exactly one TLS record of
   * 16 KiB. The receiver gets a TLS record in one piece and need not copy the payload.
   */
  chunkBytes: 16 * 1024 - 9 - 8,
  /** Longest Hello info, endpoint or reason, in bytes. */
  maxControlPayloadBytes: 4096,
  /** Length of a ChannelData frame without its payload. */
  dataHeaderBytes: 9,
  /** Receive window that every Request and Accept advertises. The value is fixed (docs/protocol.md R-8). */
  initialFrameCredit: 128,
  initialByteCredit: 16 * 1024,
  /** Largest outstanding credit, of frames and of bytes. */
  maxCredit: 0xffffffff,
} as const

/** First byte of each frame (docs/protocol.md 2.2). */
export const TAG = {
  hello: 0x00,
  close: 0xff,
  channelRequest: 0x10,
  channelAccept: 0x11,
  channelReject: 0x12,
  channelData: 0x13,
  channelAdjust: 0x14,
  channelClose: 0x15,
  channelClosed: 0x17,
  ping: 0x20,
  pong: 0x21,
} as const

/** A frame. `ChannelClose` means "I will read no more", `ChannelClosed` "I will send no more" (docs/protocol.md 2.2, 2.7). */
export type Frame =
  | { readonly type: 'Hello'; readonly magic: Uint8Array; readonly info: Uint8Array }
  | { readonly type: 'Close'; readonly reason: Uint8Array }
  | {
      readonly type: 'ChannelRequest'
      readonly senderId: number
      readonly frameCredit: number
      readonly byteCredit: number
      readonly endpoint: Uint8Array
    }
  | {
      readonly type: 'ChannelAccept'
      readonly receiverId: number
      readonly senderId: number
      readonly frameCredit: number
      readonly byteCredit: number
    }
  | { readonly type: 'ChannelReject'; readonly receiverId: number; readonly reason: Uint8Array }
  | { readonly type: 'ChannelData'; readonly receiverId: number; readonly payload: Uint8Array }
  | {
      readonly type: 'ChannelAdjust'
      readonly receiverId: number
      readonly frameCredit: number
      readonly byteCredit: number
    }
  | { readonly type: 'ChannelClose'; readonly receiverId: number; readonly reason: Uint8Array }
  | { readonly type: 'ChannelClosed'; readonly receiverId: number; readonly reason: Uint8Array }
  | { readonly type: 'Ping' }
  | { readonly type: 'Pong' }

const ID_HIGH_STEP = 0x1_0000_0000
const MAX_ID_HIGH = 0x1f_ffff

/** Reads a big-endian u32. The caller must have checked the length. */
export function readU32(bytes: Uint8Array, offset: number): number {
  return (
    bytes[offset]! * 0x1000000 + ((bytes[offset + 1]! << 16) | (bytes[offset + 2]! << 8) | bytes[offset + 3]!)
  )
}

function writeU32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 24
  bytes[offset + 1] = value >>> 16
  bytes[offset + 2] = value >>> 8
  bytes[offset + 3] = value
}

/**
 * Reads a channel id. Ids count up from 1 (docs/protocol.md 2.4). Throws FrameError for an id above 2^53-1, because a JavaScript
 * number cannot hold such an id exactly.
 */
export function readId(bytes: Uint8Array, offset: number): number {
  const high = readU32(bytes, offset)
  if (high === 0) return readU32(bytes, offset + 4)
  if (high > MAX_ID_HIGH) throw new FrameError('channel id out of range')
  return high * ID_HIGH_STEP + readU32(bytes, offset + 4)
}

function writeId(bytes: Uint8Array, offset: number, id: number): void {
  writeU32(bytes, offset, id < ID_HIGH_STEP ? 0 : Math.floor(id / ID_HIGH_STEP))
  writeU32(bytes, offset + 4, id)
}

/** Allocates a ChannelData frame. The caller fills in the payload, `length` bytes from offset 9. */
export function allocateData(receiverId: number, length: number): Uint8Array {
  const frame = allocate(FRAME.dataHeaderBytes + length)
  frame[0] = TAG.channelData
  writeId(frame, 1, receiverId)
  return frame
}

/** Encodes a ChannelAdjust without an intermediate object. */
export function encodeAdjust(receiverId: number, frameCredit: number, byteCredit: number): Uint8Array {
  const frame = allocate(17)
  frame[0] = TAG.channelAdjust
  writeId(frame, 1, receiverId)
  writeU32(frame, 9, frameCredit)
  writeU32(frame, 13, byteCredit)
  return frame
}

function encodeWithId(tag: number, id: number, rest: Uint8Array): Uint8Array {
  const frame = allocate(9 + rest.length)
  frame[0] = tag
  writeId(frame, 1, id)
  frame.set(rest, 9)
  return frame
}

/** Encodes a frame as a transport message. */
export function encodeFrame(frame: Frame): Uint8Array {
  switch (frame.type) {
    case 'Hello': {
      const bytes = allocate(1 + MAGIC.length + frame.info.length)
      bytes[0] = TAG.hello
      bytes.set(frame.magic, 1)
      bytes.set(frame.info, 1 + MAGIC.length)
      return bytes
    }
    case 'Close': {
      const bytes = allocate(1 + frame.reason.length)
      bytes[0] = TAG.close
      bytes.set(frame.reason, 1)
      return bytes
    }
    case 'ChannelRequest': {
      const bytes = allocate(17 + frame.endpoint.length)
      bytes[0] = TAG.channelRequest
      writeId(bytes, 1, frame.senderId)
      writeU32(bytes, 9, frame.frameCredit)
      writeU32(bytes, 13, frame.byteCredit)
      bytes.set(frame.endpoint, 17)
      return bytes
    }
    case 'ChannelAccept': {
      const bytes = allocate(25)
      bytes[0] = TAG.channelAccept
      writeId(bytes, 1, frame.receiverId)
      writeId(bytes, 9, frame.senderId)
      writeU32(bytes, 17, frame.frameCredit)
      writeU32(bytes, 21, frame.byteCredit)
      return bytes
    }
    case 'ChannelReject':
      return encodeWithId(TAG.channelReject, frame.receiverId, frame.reason)
    case 'ChannelData':
      return encodeWithId(TAG.channelData, frame.receiverId, frame.payload)
    case 'ChannelAdjust':
      return encodeAdjust(frame.receiverId, frame.frameCredit, frame.byteCredit)
    case 'ChannelClose':
      return encodeWithId(TAG.channelClose, frame.receiverId, frame.reason)
    case 'ChannelClosed':
      return encodeWithId(TAG.channelClosed, frame.receiverId, frame.reason)
    case 'Ping':
      return Uint8Array.of(TAG.ping)
    case 'Pong':
      return Uint8Array.of(TAG.pong)
  }
}

function requireLength(bytes: Uint8Array, min: number): void {
  if (bytes.length < min) throw new FrameError('frame too short')
}

/**
 * Decodes a transport message. Parts of variable length are views of the message. Bytes after a fixed-size frame are ignored
 * (docs/protocol.md 2.1). Throws FrameError for an unknown tag, a short frame or an id beyond 2^53-1.
 */
export function decodeFrame(bytes: Uint8Array): Frame {
  requireLength(bytes, 1)
  switch (bytes[0]) {
    case TAG.hello:
      requireLength(bytes, 17)
      return { type: 'Hello', magic: bytes.subarray(1, 17), info: bytes.subarray(17) }
    case TAG.close:
      return { type: 'Close', reason: bytes.subarray(1) }
    case TAG.channelRequest:
      requireLength(bytes, 17)
      return {
        type: 'ChannelRequest',
        senderId: readId(bytes, 1),
        frameCredit: readU32(bytes, 9),
        byteCredit: readU32(bytes, 13),
        endpoint: bytes.subarray(17),
      }
    case TAG.channelAccept:
      requireLength(bytes, 25)
      return {
        type: 'ChannelAccept',
        receiverId: readId(bytes, 1),
        senderId: readId(bytes, 9),
        frameCredit: readU32(bytes, 17),
        byteCredit: readU32(bytes, 21),
      }
    case TAG.channelReject:
      requireLength(bytes, 9)
      return { type: 'ChannelReject', receiverId: readId(bytes, 1), reason: bytes.subarray(9) }
    case TAG.channelData:
      requireLength(bytes, 9)
      return { type: 'ChannelData', receiverId: readId(bytes, 1), payload: bytes.subarray(9) }
    case TAG.channelAdjust:
      requireLength(bytes, 17)
      return {
        type: 'ChannelAdjust',
        receiverId: readId(bytes, 1),
        frameCredit: readU32(bytes, 9),
        byteCredit: readU32(bytes, 13),
      }
    case TAG.channelClose:
      requireLength(bytes, 9)
      return { type: 'ChannelClose', receiverId: readId(bytes, 1), reason: bytes.subarray(9) }
    case TAG.channelClosed:
      requireLength(bytes, 9)
      return { type: 'ChannelClosed', receiverId: readId(bytes, 1), reason: bytes.subarray(9) }
    case TAG.ping:
      return { type: 'Ping' }
    case TAG.pong:
      return { type: 'Pong' }
    default:
      throw new FrameError('unknown frame tag')
  }
}
