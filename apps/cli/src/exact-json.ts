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

/** JSON for people and programs: characters that a terminal may take for an order are written as escapes, which mean the same. */
export function printedJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Whether a value that `parseExactly` gave is an object; a number that is kept as it was is none. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}
