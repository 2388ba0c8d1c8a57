import { randomUUID } from 'node:crypto'

/** JSON text that goes out exactly as it is: what a device stored must come back unchanged (decisions, "Devices"). */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The parsed value, for code that looks inside. */
  parse(): unknown {
    return JSON.parse(this.text)
  }

  /** For `JSON.stringify`: a place holder where `stringify` called it, else the value. */
  toJSON(): unknown {
    return texts ? `${MARK}:${texts.push(this.text) - 1}` : this.parse()
  }
}

// Unguessable, so that no value can contain a place holder.
const MARK = randomUUID()
const PLACE_HOLDER = new RegExp(`"${MARK}:(\\d+)"`, 'g')
/** Those met by the call of `stringify` that is under way. A replacer would do without, and double the time of every answer. */
let texts: string[] | undefined

/** `JSON.stringify` with every `RawJson` inside replaced by its own text. */
export function stringify(value: unknown): string {
  const raw: string[] = []
  texts = raw
  let text: string
  try {
    text = JSON.stringify(value)
  } finally {
    texts = undefined
  }
  return raw.length === 0 ? text : text.replace(PLACE_HOLDER, (_match, index: string) => raw[Number(index)]!)
}

/** `JSON.parse` whose numbers keep the text that they were written as: each becomes a `RawJson`. */
export function parseExact(text: string): unknown {
  const reviver = (_key: string, value: unknown, { source }: { source: string }): unknown =>
    typeof value === 'number' ? new RawJson(source) : value
  // TypeScript's library does not know the third parameter yet.
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown)
}

/**
 * The text of one member of a JSON object, exactly as it stands there, or nothing. `text` must be valid JSON; the last of equal
 * keys counts, as for `JSON.parse`.
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

/** The texts of the elements of a JSON array, exactly as they stand there. `text` must be valid JSON. */
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

/** Deepest nesting of arrays and objects in a JSON text, found without recursion and before it is parsed. */
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

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 92) at++
    else if (code === 34) return at
  }
  return text.length
}
