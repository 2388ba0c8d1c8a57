import { parseLossless } from '@muster/actions/exact-json'

/** Result of parsing a text that a person has typed. */
type Parsed = { value: unknown } | { error: string }

/** Parses JSON with numbers of any length. The error says in a sentence what is wrong, and where. */
export function parseTyped(text: string): Parsed {
  if (text.trim() === '')
    return { error: 'Enter a value as JSON, for example 16, "text" or { "limit": 16 }.' }
  try {
    return { value: parseLossless(text) }
  } catch (error) {
    return { error: `This is not JSON: ${reasonOf(text, error)}.` }
  }
}

/** Reason why a text is not JSON: an unclosed bracket or quote, else the place that the browser names. */
function reasonOf(text: string, error: unknown): string {
  const missing = missingAtEnd(text)
  if (missing) return `missing ${missing} at ${placeOf(text, text.trimEnd().length)}`
  const [, position] = /position (\d+)/.exec(String(error)) ?? []
  if (position !== undefined) {
    const at = Number(position)
    const found = text[at]
    return `unexpected ${found === undefined ? 'end' : found} at ${placeOf(text, at)}`
  }
  return 'texts need double quotes, and numbers, true, false and null stand without'
}

/** The bracket or quote that is open at the end of a text; undefined if none is, or if brackets do not match. */
function missingAtEnd(text: string): string | undefined {
  const open: string[] = []
  let isInText = false
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]!
    if (isInText) {
      if (unit === '\\') at++
      else if (unit === '"') isInText = false
    } else if (unit === '"') isInText = true
    else if (unit === '{') open.push('}')
    else if (unit === '[') open.push(']')
    else if ((unit === '}' || unit === ']') && open.pop() !== unit) return undefined
  }
  return isInText ? '"' : open.at(-1)
}

/** Place in a text: "column 12", or "line 2, column 3" in a text of several lines. */
function placeOf(text: string, at: number): string {
  const before = text.slice(0, at).split('\n')
  const column = `column ${before.at(-1)!.length + 1}`
  return text.trimEnd().includes('\n') ? `line ${before.length}, ${column}` : column
}

/** Type of a JSON value in words: "A number", "An object". */
export function kindOfJson(value: unknown): string {
  if (value === null) return 'Null'
  if (Array.isArray(value)) return 'A list'
  if (typeof value === 'string') return 'A text'
  if (typeof value === 'boolean') return 'True or false'
  return typeof value === 'object' && !('text' in value) ? 'An object' : 'A number'
}
