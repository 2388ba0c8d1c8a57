const EMPTY = new Uint8Array(0)
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lenientDecoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

/** Uninitialised memory for a message; the caller must fill all of it. */
export function allocate(length: number): Uint8Array {
  return Buffer.allocUnsafe(length)
}

/** A shared array of length 0. */
export function emptyBytes(): Uint8Array {
  return EMPTY
}

/** Encodes text as UTF-8. Lone surrogates become U+FFFD, so that the result is always valid (docs/protocol.md R-6). */
export function encodeText(text: string): Uint8Array {
  return encoder.encode(text)
}

/** Encodes text as valid UTF-8 of at most `maxBytes` bytes, truncated between characters (docs/protocol.md R-6). */
export function encodeBoundedText(text: string, maxBytes: number): Uint8Array {
  const bytes = encoder.encode(text)
  if (bytes.length <= maxBytes) return bytes
  const bounded = new Uint8Array(maxBytes)
  return bounded.subarray(0, encoder.encodeInto(text, bounded).written)
}

/** Decodes UTF-8. Returns undefined for invalid UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** Decodes human-readable text, for example a close reason. Invalid UTF-8 becomes U+FFFD. */
export function decodeLossyText(bytes: Uint8Array): string {
  return lenientDecoder.decode(bytes)
}

/** Returns a message preceded by its length as a big-endian u32, the format of executor messages (docs/protocol.md 3.2). */
export function lengthPrefixed(body: string | Uint8Array): Uint8Array {
  const isText = typeof body === 'string'
  const length = isText ? Buffer.byteLength(body) : body.length
  const message = Buffer.allocUnsafe(4 + length)
  message.writeUInt32BE(length)
  if (isText) message.write(body, 4)
  else message.set(body, 4)
  return message
}
