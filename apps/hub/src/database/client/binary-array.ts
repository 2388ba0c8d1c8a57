/** PostgreSQL's numbers of the types whose arrays the hub sends in binary form. */
const ELEMENT_TYPES = { text: 25, json: 114 } as const

const HEADER_BYTES = 20
const NULL_LENGTH = -1

/**
 * A one-dimensional array as a parameter in PostgreSQL's binary form, for statements whose batches are large: as text every
 * element would be searched for quotes here, and again by the server. The parameter must be declared as an array of `type`.
 */
export function binaryArray(type: keyof typeof ELEMENT_TYPES, values: readonly (string | null)[]): Buffer {
  let length = HEADER_BYTES
  for (const value of values) length += 4 + (value === null ? 0 : Buffer.byteLength(value))
  const bytes = Buffer.allocUnsafe(length)
  // One dimension, perhaps with nulls; an empty array has none.
  bytes.writeInt32BE(values.length === 0 ? 0 : 1, 0)
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4)
  bytes.writeInt32BE(ELEMENT_TYPES[type], 8)
  if (values.length === 0) return bytes.subarray(0, 12)
  bytes.writeInt32BE(values.length, 12)
  // Indexes count from 1.
  bytes.writeInt32BE(1, 16)
  let at = HEADER_BYTES
  for (const value of values) {
    const size = value === null ? NULL_LENGTH : bytes.write(value, at + 4)
    bytes.writeInt32BE(size, at)
    at += 4 + Math.max(0, size)
  }
  return bytes
}
