/**
 * Parses and writes JSON without changing its text: devices store any JSON, and it must come back unchanged (docs/decisions.md,
 * "Devices"). The hub, the command-line client and the console use this module, so it must not need Node.
 */

declare global {
  // TypeScript's library does not declare these members yet. Node has them; browsers from before 2025 may not.
  interface JSON {
    /** Returns an object that `stringify` writes as this text. Accepts numbers, strings, booleans and null only. */
    rawJSON?(text: string): unknown
    /** `context.source` is the source text of a primitive value. */
    parse(
      text: string,
      reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
    ): unknown
  }
}

/**
 * A JSON value kept as its text. The hub uses it for values of any type. `parseExact` and `parseLossless` return it only
 * for numbers.
 */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The parsed value; long numbers are rounded. */
  parse(): unknown {
    return JSON.parse(this.text)
  }

  /**
   * Called by `JSON.stringify`. Returns a placeholder during a call of our `stringify`. Otherwise a number keeps its text where
   * `JSON.rawJSON` exists, and every other value is parsed.
   */
  toJSON(): unknown {
    if (texts) return `${MARK}:${texts.push(this.text) - 1}`
    return JSON.rawJSON && NUMBER_START.test(this.text) ? JSON.rawJSON(this.text) : this.parse()
  }

  toString(): string {
    return this.text
  }
}

const NUMBER_START = /^[-\d]/
// The mark is random, so that no value can contain a placeholder. It does not come from `crypto.randomUUID`, because browsers
// lack that function on pages served over plain HTTP.
const MARK = crypto.getRandomValues(new Uint32Array(4)).join('-')
const PLACEHOLDER = new RegExp(`"${MARK}:(\\d+)"`, 'g')
/** Texts collected by the running `stringify` call. A replacer would avoid this global but doubles the time. */
let texts: string[] | undefined

/** `JSON.stringify` with every `RawJson` inside replaced by its `text`. */
export function stringify(value: unknown): string {
  const raw: string[] = []
  texts = raw
  let text: string
  try {
    text = JSON.stringify(value)
  } finally {
    texts = undefined
  }
  return raw.length === 0 ? text : text.replace(PLACEHOLDER, (_match, index: string) => raw[Number(index)]!)
}

/**
 * `JSON.parse` that keeps the spelling of numbers: a number that JavaScript would write differently (`1.0`, `1e3`, 2^53
 * + 1) becomes a `RawJson`.
 */
export function parseExact(text: string): unknown {
  return parseKeeping(text, (value, source) => String(value) !== source)
}

/** Matches every text with a number that a double may not represent exactly, and some texts without such a number. */
const MAY_BE_LONG = /[\d.]{16}|\d[eE][+-]?\d{3}/

/**
 * Like `JSON.parse`, but a number that a double cannot represent exactly becomes a `RawJson`. All other numbers become
 * JavaScript numbers (`1.0` becomes 1). Nearly as fast as `JSON.parse` for texts without long numbers. In a browser without
 * `context.source`, which gives a reviver the text of a number, such numbers are rounded.
 */
export function parseLossless(text: string): unknown {
  if (!MAY_BE_LONG.test(text)) return JSON.parse(text)
  return parseKeeping(text, (value, source) => digitsOf(String(value)) !== digitsOf(source))
}

function parseKeeping(text: string, isKept: (value: number, source: string) => boolean): unknown {
  return JSON.parse(text, (_key, value: unknown, context) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && isKept(value, source)
      ? new RawJson(source)
      : value
  })
}

/** The significant digits of a number, which are the same in every notation. */
function digitsOf(number: string): string {
  return number
    .replace(/[eE].*/, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '')
}

/** True for a parsed JSON object. A number kept as a `RawJson` does not count as an object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson)
}

/**
 * The text of one member of a JSON object, or undefined. `text` must be valid JSON. If several members have this key,
 * the last one counts, as for `JSON.parse`.
 */
export function memberText(text: string, key: string): string | undefined {
  let result: string | undefined
  let depth = 0
  let name: string | undefined
  let valueStart = -1
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') {
      const end = stringEnd(text, at)
      if (depth === 1 && valueStart < 0) name = JSON.parse(text.slice(at, end + 1)) as string
      at = end
    } else if (char === '{' || char === '[') depth++
    else if (char === ':' && depth === 1 && valueStart < 0) valueStart = at + 1
    else if (char === '}' || char === ']' || char === ',') {
      if (depth === 1 && valueStart >= 0) {
        if (name === key) result = text.slice(valueStart, at).trim()
        valueStart = -1
      }
      if (char !== ',') depth--
    }
  }
  return result
}

/** The texts of the elements of a JSON array. `text` must be valid JSON. */
export function elementTexts(text: string): string[] {
  const elements: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') at = stringEnd(text, at)
    else if (char === '{' || char === '[') {
      if (++depth === 1) start = at + 1
    } else if (char === '}' || char === ']' || char === ',') {
      if (depth === 1) {
        const element = text.slice(start, at).trim()
        if (element !== '') elements.push(element)
        start = at + 1
      }
      if (char !== ',') depth--
    }
  }
  return elements
}

/**
 * Index of the byte that ends the value which begins at `start` inside an array or object: a comma or a closing bracket. Returns `start` for
 * a value of more levels of arrays and objects than `maxDepth`. The text may be no valid JSON; then the value is none either, or what follows.
 */
export function valueEnd(text: string, start: number, maxDepth: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 34) at = stringEnd(text, at)
    else if (code === 123 || code === 91) {
      if (++depth > maxDepth) return start
    } else if (code === 125 || code === 93 || code === 44) {
      if (depth === 0) return at
      if (code !== 44) depth--
    }
  }
  return text.length
}

/** Deepest nesting of arrays and objects in a JSON text, computed without recursion and before parsing. */
export function jsonDepth(text: string): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 34) at = stringEnd(text, at)
    else if (code === 123 || code === 91) deepest = Math.max(deepest, ++depth)
    else if (code === 125 || code === 93) depth--
  }
  return deepest
}

/**
 * Returns the index of the quote that ends a string. The native `indexOf` takes 5 µs for an event of 60 KiB, a loop over its
 * characters 0.3 ms.
 */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === 92) backslashes++
    // The run of backslashes ends at the opening quote at the latest. If it is even, the quote at `at` is not escaped and ends
    // the string.
    if (backslashes % 2 === 0) return at
  }
  return text.length
}
