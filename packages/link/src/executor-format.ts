import { encodeText } from './bytes.ts'

/** Limits of an executor channel, over which actions run, in bytes and milliseconds. They hold for both sides (docs/protocol.md 3.2). */
export const EXECUTOR = {
  maxNameBytes: 255,
  maxInputBytes: 8 * 1024 * 1024,
  maxOutputBytes: 8 * 1024 * 1024,
  bodyTimeoutMs: 30_000,
} as const

/** Encodes a request. Throws RangeError for a name or an input over the limits. */
export function encodeRequest(name: string, input: string): Uint8Array {
  const nameBytes = encodeText(name)
  if (nameBytes.length > EXECUTOR.maxNameBytes) throw new RangeError('action name over 255 bytes')
  const inputLength = Buffer.byteLength(input)
  if (inputLength > EXECUTOR.maxInputBytes) throw new RangeError('action input over 8 MiB')
  const request = Buffer.allocUnsafe(2 + nameBytes.length + 4 + inputLength)
  request.writeUInt16BE(nameBytes.length)
  request.set(nameBytes, 2)
  request.writeUInt32BE(inputLength, 2 + nameBytes.length)
  request.write(input, 6 + nameBytes.length)
  return request
}
