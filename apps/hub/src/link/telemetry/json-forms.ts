import { AnyJson, JsonObject, MAX_JSON_DEPTH } from '@muster/actions'
import { valueEnd } from '@muster/actions/exact-json'
import { z } from 'zod'

/** Result for a text that was not read to the end: it may be valid or not. */
export const UNSURE = Symbol('unsure')

/** Reads the value at the position of a reader, and moves the position behind it. Or returns `UNSURE`. */
type Form = (json: JsonReader) => unknown

/**
 * Makes a function that reads the JSON text of a value of a schema in one walk. Any JSON (`AnyJson`, `JsonObject`) stays text, exactly as it
 * was sent. Each other member must be a text or `null`, and its own schema checks it. The function returns `UNSURE` for all values that the
 * schema refuses, and for some that it accepts: with unknown or repeated members, escapes in a text, or members of other types.
 */
export function readerOf(schema: z.ZodType): (text: string) => unknown {
  const form = formOf(schema, MAX_JSON_DEPTH)
  return text => {
    const json = new JsonReader(text)
    const value = form(json)
    return json.takes('') && json.at === text.length ? value : UNSURE
  }
}

/** Position in a JSON text. Each method takes something at the position, or returns `false` or `undefined` if something else follows. */
class JsonReader {
  at = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** Takes blanks and then `token`. Blanks are taken in any case. */
  takes(token: string): boolean {
    let code = this.#text.charCodeAt(this.at)
    while (code === 32 || code === 10 || code === 13 || code === 9) code = this.#text.charCodeAt(++this.at)
    const isNext = token.length === 1 ? code === token.charCodeAt(0) : this.#text.startsWith(token, this.at)
    if (isNext) this.at += token.length
    return isNext
  }

  /** Takes a string without escapes. */
  plainText(): string | undefined {
    if (!this.takes('"')) return undefined
    const end = this.#text.indexOf('"', this.at)
    const plain = this.#text.slice(this.at, end)
    this.at = end + 1
    return end >= 0 && PLAIN.test(plain) ? plain : undefined
  }

  /** Takes the text of any JSON value that has at most so many levels. */
  valueText(levels: number): string | undefined {
    const end = valueEnd(this.#text, this.at, levels)
    const text = this.#text.slice(this.at, end)
    this.at = end
    try {
      JSON.parse(text)
    } catch {
      return undefined
    }
    return text.trim()
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in texts
const PLAIN = /^[^\\\0-\x1f]*$/

/** `levels` is the number of levels of arrays and objects that the value may have. */
function formOf(schema: z.ZodType, levels: number): Form {
  if (schema instanceof z.ZodObject) return objectForm(schema, levels - 1)
  if (schema instanceof z.ZodArray) return arrayForm(schema, levels - 1)
  if (schema === (AnyJson as z.ZodType)) return json => json.valueText(levels) ?? UNSURE
  if (schema === (JsonObject as z.ZodType))
    return json => {
      const text = json.valueText(levels)
      return text?.startsWith('{') ? text : UNSURE
    }
  // The events of a call mostly have the same severity and category.
  let last: { text: string | null; data: unknown } | undefined
  return json => {
    const text = json.takes('null') ? null : json.plainText()
    if (text === undefined) return UNSURE
    if (last?.text === text) return last.data
    const { success, data } = schema.safeParse(text)
    if (success) last = { text, data }
    return success ? data : UNSURE
  }
}

function objectForm({ shape }: z.ZodObject, levels: number): Form {
  const members = Object.entries(shape as Record<string, z.ZodType>).map(([name, schema], index) => ({
    name,
    quoted: JSON.stringify(name),
    start: `${JSON.stringify(name)}:`,
    form: formOf(schema, levels),
    bit: 1 << index,
    next: index + 1,
    isRequired: !schema.safeParse(undefined).success,
  }))
  const required = members.reduce((bits, { bit, isRequired }) => (isRequired ? bits | bit : bits), 0)
  const empty: Record<string, unknown> = Object.fromEntries(members.map(({ name }) => [name, undefined]))
  return json => {
    if (!json.takes('{')) return UNSURE
    const object = { ...empty }
    let seen = 0
    // Most senders write the members in the order of the schema.
    let likely = members[0]
    do {
      const isLikely = likely !== undefined && json.takes(likely.start)
      const member = isLikely ? likely : members.find(({ quoted }) => json.takes(quoted))
      if (member === undefined || (seen & member.bit) !== 0 || !(isLikely || json.takes(':'))) return UNSURE
      const value = member.form(json)
      if (value === UNSURE) return UNSURE
      object[member.name] = value
      seen |= member.bit
      likely = members[member.next]
    } while (json.takes(','))
    return json.takes('}') && (seen & required) === required ? object : UNSURE
  }
}

function arrayForm(schema: z.ZodArray, levels: number): Form {
  const form = formOf(schema.element as z.ZodType, levels)
  // The rules of the array itself, such as its greatest length.
  const rules = z.array(z.unknown()).check(...((schema.def.checks ?? []) as z.core.$ZodCheck<unknown[]>[]))
  return json => {
    const list: unknown[] = []
    if (!json.takes('[')) return UNSURE
    if (!json.takes(']')) {
      do list.push(form(json))
      while (list.at(-1) !== UNSURE && json.takes(','))
      if (list.at(-1) === UNSURE || !json.takes(']')) return UNSURE
    }
    return rules.safeParse(list).success ? list : UNSURE
  }
}
