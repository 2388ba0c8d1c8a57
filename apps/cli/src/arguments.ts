import { isJsonObject, parseExact } from '@muster/actions/exact-json'
import { isLabelKey, type JsonExpr, PredicateTextError, problemsOf, readPredicate } from '@muster/predicates'
import { InvalidArgumentError } from 'commander'

/** Returns a parser for an option whose value is a whole number from `min` to `max`. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return text => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(
      `Expected a whole number from ${min}${max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : ''}.`,
    )
  }
}

/** Parses any JSON value of an argument or option. Numbers keep the digits that were typed. */
export function json(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    throw new InvalidArgumentError('Expected JSON, for example \'{"key": 1}\' or \'"text"\'.')
  }
}

/** Parses a JSON object of an argument or option. */
export function jsonObject(text: string): Record<string, unknown> {
  const value = json(text)
  if (isJsonObject(value)) return value
  throw new InvalidArgumentError('Expected a JSON object.')
}

/** Parses `true` or `false`, as the published Nexigon CLI writes booleans. */
export function boolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new InvalidArgumentError('Expected true or false.')
}

/** Changes of labels: values by key to set, and keys to remove. */
export type LabelChanges = { set: Record<string, string>; remove: string[] }

/** Adds a change of a label, `KEY=VALUE` or `KEY-`, to the changes before it. */
export function labelChange(text: string, before: LabelChanges | undefined): LabelChanges {
  const { set, remove } = before ?? { set: {}, remove: [] }
  const [key, value] = [text.replace(/=.*$|-$/s, ''), /=(.*)$/s.exec(text)?.[1]]
  if (!isLabelKey(key) || (value === undefined && !text.endsWith('-')))
    throw new InvalidArgumentError(
      'Expected KEY=VALUE to set a label or KEY- to remove it. A key has small letters, digits, dots, dashes and underscores.',
    )
  if (Object.hasOwn(set, key) || remove.includes(key))
    throw new InvalidArgumentError(`The label ${key} is named twice.`)
  return value === undefined ? { set, remove: [...remove, key] } : { set: { ...set, [key]: value }, remove }
}

/** Adds a label, `KEY=VALUE`, to the labels before it. */
export function labelToSet(text: string, before: Record<string, string> | undefined): Record<string, string> {
  const { set, remove } = labelChange(text, before && { set: before, remove: [] })
  if (remove.length > 0) throw new InvalidArgumentError('Expected KEY=VALUE.')
  return set
}

/** Parses the text form of a predicate (docs/predicates.md) and checks its types. */
export function predicate(text: string): JsonExpr {
  const expr = readOrRefuse(text)
  const problem = problemsOf(expr)[0]
  if (problem) throw new InvalidArgumentError(`Found ${problem.found}, expected ${problem.expected}.`)
  return expr
}

/** The predicate that all of some predicates hold. */
export function allOf(predicates: readonly JsonExpr[]): JsonExpr {
  return predicates.length === 1 ? predicates[0]! : { kind: 'And', exprs: [...predicates] }
}

function readOrRefuse(text: string): JsonExpr {
  try {
    return readPredicate(text)
  } catch (error) {
    if (error instanceof PredicateTextError) throw new InvalidArgumentError(`${error.message}.`)
    throw error
  }
}
