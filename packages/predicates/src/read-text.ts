import { DEVICE_FIELDS } from './device-fields.ts'
import {
  COMPARISONS,
  FIELD_PREFIX,
  type Json,
  type JsonExpr,
  type JsonPath,
  LABELS,
  MAX_DEPTH,
  MAX_PREDICATE_LENGTH,
} from './expr.ts'
import { KEYWORDS, SIGNS, UNITS } from './print-text.ts'

/** Why a text is no predicate. Line and column begin with 1 and count code units. */
export class PredicateTextError extends Error {
  readonly line: number
  readonly column: number
  readonly found: string
  readonly expected: string
  /** A word that may have been meant. */
  readonly suggestion: string | undefined

  constructor(text: string, at: number, found: string, expected: string, suggestion?: string) {
    const before = text.slice(0, at).split('\n')
    const line = before.length
    const column = before.at(-1)!.length + 1
    const meant = suggestion ? `; did you mean ${suggestion}?` : ''
    super(`line ${line}, column ${column}: found ${found}, expected ${expected}${meant}`)
    this.line = line
    this.column = column
    this.found = found
    this.expected = expected
    this.suggestion = suggestion
  }
}

/** Reads the text form of a predicate. Throws a `PredicateTextError`. The types of its values are checked by `problemsOf`. */
export function readPredicate(text: string): JsonExpr {
  return readPlaced(text).expr
}

/** Reads a predicate as `readPredicate` does, with the index in the text where each of its expressions begins. */
export function readPlaced(text: string): { expr: JsonExpr; starts: ReadonlyMap<JsonExpr, number> } {
  if (text.length > MAX_PREDICATE_LENGTH)
    throw new PredicateTextError(text, 0, `${text.length} characters`, `at most ${MAX_PREDICATE_LENGTH}`)
  const reader = new Reader(text)
  return { expr: reader.read(), starts: reader.starts }
}

type Token = { kind: 'word' | 'number' | 'string' | 'sign' | 'end'; text: string; at: number }

const TOKEN =
  /(?<word>[A-Za-z_]\w*)|(?<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<string>"(?:[^"\\\n]|\\.)*")|(?<sign>!=|<=|>=|[=<>()[\]{},.:])/y

const UNIT_WORDS: Record<string, keyof typeof UNITS> = {
  ...Object.fromEntries(Object.keys(UNITS).map(unit => [unit, unit as keyof typeof UNITS])),
  second: 's',
  seconds: 's',
  minute: 'min',
  minutes: 'min',
  hour: 'h',
  hours: 'h',
  day: 'd',
  days: 'd',
}

/** Brackets, `not` and `else` may be nested this deep. Each is at least one level of the tree. */
const MAX_NESTED = 2 * MAX_DEPTH

/** Reads by one function for each rule of the grammar in docs/predicates.md. */
class Reader {
  readonly #text: string
  readonly #tokens: Token[]
  #next = 0
  #depth = 0
  readonly starts = new Map<JsonExpr, number>()

  constructor(text: string) {
    this.#text = text
    this.#tokens = tokensOf(text)
  }

  read(): JsonExpr {
    const expr = this.#or()
    if (this.#token.kind !== 'end') throw this.#wrong('and, or, or the end')
    return expr
  }

  #or(): JsonExpr {
    return this.#joined('or', () => this.#joined('and', () => this.#not()))
  }

  #joined(word: 'or' | 'and', part: () => JsonExpr): JsonExpr {
    const { at } = this.#token
    const exprs = [part()]
    while (this.#takeWord(word)) exprs.push(part())
    return this.#placed(at, exprs.length === 1 ? exprs[0]! : { kind: word === 'or' ? 'Or' : 'And', exprs })
  }

  /** Notes where an expression begins. Brackets around it do not belong to it. */
  #placed(at: number, expr: JsonExpr): JsonExpr {
    if (!this.starts.has(expr)) this.starts.set(expr, at)
    return expr
  }

  #not(): JsonExpr {
    const { at } = this.#token
    return this.#placed(
      at,
      this.#takeWord('not') ? { kind: 'Not', expr: this.#nested(() => this.#not()) } : this.#comparison(),
    )
  }

  #comparison(): JsonExpr {
    const left = this.#operand()
    if (this.#takeWord('in')) return { kind: 'In', left, right: this.#operand() }
    if (this.#takeWord('contains')) {
      const isExact = this.#takeWord('exactly')
      return { kind: 'Contains', left, right: this.#operand(), ...(!isExact && { ignoreCase: true }) }
    }
    if (this.#takeWord('satisfies')) {
      if (this.#token.kind !== 'string') throw this.#wrong('a requirement in quotes, as in ">=1.2.0, <2.0.0"')
      return { kind: 'VersionRequirement', expr: left, requirement: this.#json() as string }
    }
    const kind = COMPARISONS.find(kind => this.#isSign(SIGNS[kind]))
    if (!kind) return left
    this.#next += 1
    return { kind, left, right: this.#operand() }
  }

  #operand(): JsonExpr {
    return this.#placed(this.#token.at, this.#unplacedOperand())
  }

  #unplacedOperand(): JsonExpr {
    if (this.#takeWord('exists')) {
      const [expr, isWhole] = this.#value()
      return expr.kind === 'Get' && !isWhole
        ? { kind: 'Exists', expr: expr.expr, path: expr.path }
        : { kind: 'Exists', expr, path: [] }
    }
    const [expr, isWhole] = this.#value()
    if (!this.#takeWord('else')) return expr
    const fallback = this.#nested(() => this.#operand())
    const canHaveDefault = !isWhole && (expr.kind === 'NamedValue' || expr.kind === 'Get')
    return canHaveDefault
      ? { ...expr, default: fallback }
      : { kind: 'Get', expr, path: [], default: fallback }
  }

  /** A value with its path. The second element tells whether brackets are around it. */
  #value(): [JsonExpr, isWhole: boolean] {
    if (this.#takeSign('(')) {
      const expr = this.#nested(() => this.#or())
      this.#expectSign(')')
      const path = this.#path()
      return path.length > 0 ? [{ kind: 'Get', expr, path }, false] : [expr, true]
    }
    const { kind, text } = this.#token
    if (kind === 'word' && !['true', 'false', 'null'].includes(text)) return [this.#reference(), false]
    const value = this.#json()
    return [typeof value === 'number' ? this.#ago(value) : { kind: 'Literal', value }, true]
  }

  #ago(count: number): JsonExpr {
    const { kind, text } = this.#token
    if (kind !== 'word' || KEYWORDS.includes(text)) return { kind: 'Literal', value: count }
    const unit = Object.hasOwn(UNIT_WORDS, text) ? UNIT_WORDS[text]! : undefined
    if (!unit) throw this.#wrong('and, or, or a unit of time: s, min, h or d', Object.keys(UNIT_WORDS))
    const at = this.#token.at
    this.#next += 1
    if (!this.#takeWord('ago')) throw this.#wrong('ago')
    const secs = count * UNITS[unit]
    if (!Number.isInteger(secs) || secs < 0)
      throw new PredicateTextError(this.#text, at, `${secs} s`, 'whole seconds, none below 0')
    return { kind: 'Ago', secs }
  }

  #reference(): JsonExpr {
    const { text } = this.#token
    if (text === 'device') {
      this.#next += 1
      this.#expectSign('.')
      const fields = Object.keys(DEVICE_FIELDS)
      if (!fields.includes(this.#token.text))
        throw this.#wrong(`a field of a device: ${fields.join(', ')}`, fields)
      const name = FIELD_PREFIX + this.#take().text
      return this.#withPath({ kind: 'NamedValue', name })
    }
    if (text === 'label') {
      this.#next += 1
      return this.#withPath({ kind: 'NamedValue', name: LABELS })
    }
    if (text === 'property') {
      this.#next += 1
      const [name, ...path] = this.#path()
      if (typeof name !== 'string') throw this.#wrong('the name of a property, as in property["a.b"]')
      const expr: JsonExpr = { kind: 'NamedValue', name }
      return path.length > 0 ? { kind: 'Get', expr, path } : expr
    }
    if (text === 'current') {
      this.#next += 1
      return { kind: 'Current' }
    }
    if (KEYWORDS.includes(text)) throw this.#wrong('a value')
    return this.#withPath({ kind: 'NamedValue', name: this.#take().text })
  }

  #withPath(expr: JsonExpr): JsonExpr {
    const path = this.#path()
    return path.length > 0 ? { kind: 'Get', expr, path } : expr
  }

  #path(): JsonPath {
    const path: JsonPath = []
    for (;;) {
      if (this.#takeSign('.')) {
        if (this.#token.kind !== 'word')
          throw this.#wrong('a name; other names stand in brackets, as in ["a-b"]')
        path.push(this.#take().text)
      } else if (this.#takeSign('[')) {
        const { kind } = this.#token
        if (kind !== 'string' && kind !== 'number') throw this.#wrong('a name in quotes, or a number')
        const part = this.#json() as string | number
        if (typeof part === 'number' && (!Number.isInteger(part) || part < 0))
          throw this.#wrong('a whole number, not below 0')
        path.push(part)
        this.#expectSign(']')
      } else return path
    }
  }

  #json(): Json {
    if (this.#takeSign('[')) return this.#elements(']', () => this.#nested(() => this.#json()))
    if (this.#takeSign('{')) {
      const members = this.#elements('}', () => {
        if (this.#token.kind !== 'string') throw this.#wrong('a name in quotes')
        const name = JSON.parse(this.#take().text) as string
        this.#expectSign(':')
        return [name, this.#nested(() => this.#json())] as const
      })
      return Object.fromEntries(members)
    }
    const { kind, text } = this.#token
    const isJson = kind === 'string' || kind === 'number' || ['true', 'false', 'null'].includes(text)
    if (!isJson) throw this.#wrong('a value')
    try {
      const value = JSON.parse(text) as Json
      this.#next += 1
      return value
    } catch {
      throw this.#wrong('a text in quotes, written as in JSON')
    }
  }

  #elements<T>(end: ']' | '}', element: () => T): T[] {
    const elements: T[] = []
    if (this.#takeSign(end)) return elements
    do elements.push(element())
    while (this.#takeSign(','))
    this.#expectSign(end)
    return elements
  }

  #nested<T>(read: () => T): T {
    this.#depth += 1
    if (this.#depth > MAX_NESTED) throw this.#wrong(`at most ${MAX_NESTED} levels`)
    const result = read()
    this.#depth -= 1
    return result
  }

  get #token(): Token {
    return this.#tokens[this.#next]!
  }

  #take(): Token {
    const token = this.#token
    this.#next += 1
    return token
  }

  #takeWord(word: string): boolean {
    const isThere = this.#token.kind === 'word' && this.#token.text === word
    if (isThere) this.#next += 1
    return isThere
  }

  #isSign(sign: string): boolean {
    return this.#token.kind === 'sign' && this.#token.text === sign
  }

  #takeSign(sign: string): boolean {
    const isThere = this.#isSign(sign)
    if (isThere) this.#next += 1
    return isThere
  }

  #expectSign(sign: string): void {
    if (!this.#takeSign(sign)) throw this.#wrong(sign)
  }

  #wrong(expected: string, words: readonly string[] = KEYWORDS): PredicateTextError {
    const { kind, text, at } = this.#token
    const found = kind === 'end' ? 'the end' : text.length > 40 ? `${text.slice(0, 40)}…` : text
    return new PredicateTextError(
      this.#text,
      at,
      found,
      expected,
      kind === 'word' ? nearest(text, words) : undefined,
    )
  }
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; ; ) {
    at += /^\s*/.exec(text.slice(at))![0].length
    if (at === text.length) return [...tokens, { kind: 'end', text: '', at }]
    TOKEN.lastIndex = at
    const groups = TOKEN.exec(text)?.groups
    const [kind, found] = Object.entries(groups ?? {}).find(([, part]) => part !== undefined) ?? []
    if (kind === undefined || found === undefined) {
      const expected = text[at] === '"' ? 'a quote at the end of the text' : 'a word, a value or a sign'
      throw new PredicateTextError(text, at, [...text.slice(at, at + 2)][0]!, expected)
    }
    tokens.push({ kind: kind as Token['kind'], text: found, at })
    at += found.length
  }
}

/** The word that differs from `text` by the fewest letters, at most 2; undefined if there is none. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  const distances = words.map(word => [distance(text.toLowerCase(), word.toLowerCase()), word] as const)
  const [steps, word] = distances.reduce((best, next) => (next[0] < best[0] ? next : best), [3, ''] as const)
  return steps > 0 && steps <= 2 && steps < text.length ? word : undefined
}

/** Number of letters that have to be added, removed or replaced. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return 3
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (let at = 1; at <= other.length; at++)
      next.push(Math.min(row[at]! + 1, next[at - 1]! + 1, row[at - 1]! + (letter === other[at - 1] ? 0 : 1)))
    row = next
  }
  return row.at(-1)!
}
