declare global {
  // Browsers have them; the compiler's library does not yet. Older browsers have neither.
  interface JSON {
    /** What `stringify` writes exactly as it is. */
    rawJSON(text: string): unknown
    parse(
      text: string,
      reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
    ): unknown
  }
}

/** A number that no double holds, as it was written. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.text)
  }

  toString(): string {
    return this.text
  }
}

/** Where a number may stand that no double holds; every other text is read as fast as it can be. */
const MAY_BE_LONG = /[\d.]{16}|\d[eE][+-]?\d{3}/

/**
 * Like `JSON.parse`, but numbers that a double cannot hold stay what they were: values of devices are any JSON, and who reads them
 * here must see what the device has said (protocol 4.1).
 */
export function parseExactly(text: string): unknown {
  if (!MAY_BE_LONG.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown, context) => {
    const source = context?.source
    const isOther =
      typeof value === 'number' && source !== undefined && digitsOf(source) !== digitsOf(String(value))
    return isOther ? new ExactNumber(source) : value
  })
}

/** The digits of a number that count, however it is written. */
function digitsOf(number: string): string {
  return number
    .replace(/[eE].*/, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '')
}
