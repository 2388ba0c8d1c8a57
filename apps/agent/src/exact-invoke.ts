import { type Channel, EXECUTOR, ProtocolError, parseEnvelope } from '@muster/link'
import type { JsonText } from './json-text.ts'

const OK_PREFIX = '{"result":"Ok","value":'

/**
 * Runs one action and returns the JSON text of its output (docs/protocol.md 3.2). The input is JSON text and is sent unchanged, so that
 * numbers beyond double precision keep their digits and keys keep their order. Closes the channel afterwards. Rejects with
 * `RemoteActionError`, `ProtocolError`, or the channel's errors.
 */
export async function invokeExactly(channel: Channel, action: string, input: JsonText): Promise<string> {
  try {
    // Reads while writing, so that a failed read ends the call immediately, even if the write still waits for flow-control credit.
    const [output] = await Promise.all([readResponse(channel), channel.write(encodeRequest(action, input))])
    const value = parseEnvelope(output)
    return output.startsWith(OK_PREFIX) ? output.slice(OK_PREFIX.length, -1) : JSON.stringify(value)
  } finally {
    channel.close()
  }
}

function encodeRequest(action: string, input: JsonText): Uint8Array {
  const [nameBytes, inputBytes] = [Buffer.from(action), Buffer.from(input)]
  if (inputBytes.length > EXECUTOR.maxInputBytes)
    throw new RangeError('the input of an action has at most 8 MiB')
  const header = Buffer.alloc(6)
  header.writeUInt16BE(nameBytes.length, 0)
  header.writeUInt32BE(inputBytes.length, 2)
  return Buffer.concat([header.subarray(0, 2), nameBytes, header.subarray(2), inputBytes])
}

async function readResponse(channel: Channel): Promise<string> {
  let bytes: Buffer = Buffer.alloc(0)
  let expected: number | undefined
  while (expected === undefined || bytes.length < expected) {
    const piece = await channel.read()
    if (piece === null) throw new ProtocolError('the hub ended the channel without an answer')
    bytes = Buffer.concat([bytes, piece])
    if (expected === undefined && bytes.length >= 4) expected = 4 + bytes.readUInt32BE(0)
    if (expected !== undefined && expected > EXECUTOR.maxOutputBytes + 4)
      throw new ProtocolError('a response over 8 MiB')
  }
  return bytes.toString('utf8', 4, expected)
}
