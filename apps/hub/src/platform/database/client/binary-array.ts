/** Type OIDs of PostgreSQL, for the element types that the hub sends in binary form. */
const ELEMENT_TYPES = { text: 25, json: 114 } as const

const HEADER_BYTES = 20
const NULL_LENGTH = -1

/**
 * Encodes a one-dimensional array as a parameter in PostgreSQL's binary form, for large batches. In text form, the hub and the
 * server would both scan each element for quotes. The statement must declare the parameter as an array of `type`.
 */
export function binaryArray(type: keyof typeof ELEMENT_TYPES, values: readonly (string | null)[]): Buffer {
  let length = HEADER_BYTES
  for (const value of values) length += 4 + (value === null ? 0 : Buffer.byteLength(value))
  const bytes = Buffer.allocUnsafe(length)
  // Number of dimensions (0 for an empty array), whether there are nulls, element type.
  bytes.writeInt32BE(values.length === 0 ? 0 : 1, 0)
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4)
  bytes.writeInt32BE(ELEMENT_TYPES[type], 8)
  if (values.length === 0) return bytes.subarray(0, 12)
  bytes.writeInt32BE(values.length, 12)
  // Lower bound: indexes of PostgreSQL start at 1.
  bytes.writeInt32BE(1, 16)
  let at = HEADER_BYTES
  for (const value of values) {
    const size = value === null ? NULL_LENGTH : bytes.write(value, at + 4)
    bytes.writeInt32BE(size, at)
    at += 4 + Math.max(0, size)
  }
  return bytes
}
