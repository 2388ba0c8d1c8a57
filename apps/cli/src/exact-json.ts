declare global {
  // Node has them; the compiler's library does not yet.
  interface JSON {
    /** What `stringify` writes exactly as it is. */
    rawJSON(text: string): object
    isRawJSON(value: unknown): boolean
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown
  }
}

/**
 * Like `JSON.parse`, but numbers that a double cannot hold, or that would be written in another way, come out of `JSON.stringify` as they
 * were: values of devices are any JSON and stay unchanged (protocol 4.1).
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? JSON.rawJSON(source)
      : value,
  )
}

/** Whether a value that `parseExactly` gave is an object; a number that is kept as it was is none. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}
