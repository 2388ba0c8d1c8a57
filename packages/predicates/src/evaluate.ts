import type { Json, JsonExpr, JsonPath } from './expr.ts'
import { printPredicate } from './print-text.ts'
import { isVersion, readRequirement } from './version-requirement.ts'

/** What a predicate is evaluated on. */
export type Values = {
  /** Value of a property by its name, or of a field by its name with the prefix; undefined if the device does not have it. */
  valueOf: (name: string) => Json | undefined
  /** The time from which `Ago` counts, in milliseconds since 1970. */
  nowMs: number
  /** The value that a mutation changes, for `Current`; undefined if there is none. */
  current?: Json | undefined
}

/** Whether a predicate holds; `reason` says why it could not be evaluated. */
export type Outcome = boolean | { reason: string }

/** Evaluates a checked predicate (`problemsOf`). A comparison of a value that the device lacks cannot be evaluated. */
export function evaluate(predicate: JsonExpr, values: Values): Outcome {
  try {
    return isTrue(predicate, values)
  } catch (error) {
    if (error instanceof Unknown) return { reason: error.message }
    throw error
  }
}

/** Evaluates an expression to its value. A value that the device lacks cannot be evaluated. */
export function evaluateValue(expr: JsonExpr, values: Values): { value: Json } | { reason: string } {
  try {
    return { value: present(expr, values) }
  } catch (error) {
    if (error instanceof Unknown) return { reason: error.message }
    throw error
  }
}

/** Ends an evaluation that has no outcome. */
class Unknown extends Error {}

function isTrue(expr: JsonExpr, values: Values): boolean {
  const value = present(expr, values)
  if (typeof value === 'boolean') return value
  throw new Unknown(`${nameOf(expr)} is no truth value`)
}

/** Whether one of the conditions is `wanted`. If none is and one of them cannot be evaluated, this cannot either. */
function isOneOf(conditions: readonly JsonExpr[], wanted: boolean, values: Values): boolean {
  let unknown: Unknown | undefined
  for (const condition of conditions)
    try {
      if (isTrue(condition, values) === wanted) return true
    } catch (error) {
      if (!(error instanceof Unknown)) throw error
      unknown ??= error
    }
  if (unknown) throw unknown
  return false
}

/** The value of an expression. Throws if the device does not have it. */
function present(expr: JsonExpr, values: Values): Json {
  const value = valueIn(expr, values)
  if (value !== undefined) return value
  throw new Unknown(`${nameOf(expr)} is not set`)
}

/** The value of an expression; undefined if the device does not have it. */
function valueIn(expr: JsonExpr, values: Values): Json | undefined {
  switch (expr.kind) {
    case 'Literal':
      return expr.value
    case 'Current':
      if (values.current === undefined) throw new Unknown('there is no current value')
      return values.current
    case 'NamedValue':
      return orDefault(values.valueOf(expr.name), expr.default, values)
    case 'Get':
      return orDefault(follow(valueIn(expr.expr, values), expr.path), expr.default, values)
    case 'Exists':
      return follow(valueIn(expr.expr, values), expr.path) !== undefined
    case 'Ago':
      return new Date(values.nowMs - expr.secs * 1000).toISOString()
    case 'And':
      return !isOneOf(expr.exprs, false, values)
    case 'Or':
      return isOneOf(expr.exprs, true, values)
    case 'Not':
      return !isTrue(expr.expr, values)
    case 'VersionRequirement':
      return readRequirement(expr.requirement)!(versionOf(expr.expr, values))
    default:
      return compare(expr, present(expr.left, values), present(expr.right, values))
  }
}

function orDefault(
  value: Json | undefined,
  fallback: JsonExpr | undefined,
  values: Values,
): Json | undefined {
  return value === undefined && fallback ? valueIn(fallback, values) : value
}

/** The value at a path; undefined if there is none. */
function follow(value: Json | undefined, path: JsonPath): Json | undefined {
  let inner = value
  for (const part of path) {
    if (Array.isArray(inner)) inner = typeof part === 'number' ? inner[part] : undefined
    else if (inner !== null && typeof inner === 'object' && typeof part === 'string')
      inner = Object.hasOwn(inner, part) ? inner[part] : undefined
    else return undefined
  }
  return inner
}

type Comparing = Extract<JsonExpr, { left: JsonExpr }>

function compare(expr: Comparing, left: Json, right: Json): boolean {
  switch (expr.kind) {
    case 'Equals':
      return isEqual(left, right)
    case 'NotEquals':
      return !isEqual(left, right)
    case 'In':
      if (!Array.isArray(right)) throw new Unknown(`${nameOf(expr.right)} is no list`)
      return right.some(element => isEqual(element, left))
    case 'Contains': {
      const [whole, part] = [textOf(expr.left, left), textOf(expr.right, right)]
      return expr.ignoreCase ? foldCase(whole).includes(foldCase(part)) : whole.includes(part)
    }
    case 'LessThan':
      return order(left, right) < 0
    case 'LessThanOrEquals':
      return order(left, right) <= 0
    case 'GreaterThan':
      return order(left, right) > 0
    case 'GreaterThanOrEquals':
      return order(left, right) >= 0
  }
}

function textOf(expr: JsonExpr, value: Json): string {
  if (typeof value === 'string') return value
  throw new Unknown(`${nameOf(expr)} is no text`)
}

function versionOf(expr: JsonExpr, values: Values): string {
  const text = textOf(expr, present(expr, values))
  if (isVersion(text)) return text
  throw new Unknown(`${nameOf(expr)} is no version`)
}

/** Lower case of the letters A to Z, as the database folds them for predicates. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

/** Whether two values are the same JSON: members in any order, numbers by their value. */
function isEqual(left: Json, right: Json): boolean {
  if (left === right) return true
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false
  if (Array.isArray(left) || Array.isArray(right))
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((element, index) => isEqual(element, right[index]!))
    )
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every(name => Object.hasOwn(right, name) && isEqual(left[name]!, right[name]!))
  )
}

/** Order of two numbers, or of two texts by their code points. */
function order(left: Json, right: Json): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right
  if (typeof left === 'string' && typeof right === 'string') return compareCodePoints(left, right)
  throw new Unknown('only two numbers or two texts have an order')
}

/** Order of two texts by their code points, which is that of their UTF-8 bytes. */
function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const [one, other] = [left.charCodeAt(index), right.charCodeAt(index)]
    // Surrogates stand for code points above all others.
    if (one !== other) return rank(one) - rank(other)
  }
  return left.length - right.length
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

function nameOf(expr: JsonExpr): string {
  return printPredicate(expr).slice(0, 200)
}
