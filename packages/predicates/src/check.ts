import { DEVICE_FIELDS, type DeviceFieldName } from './device-fields.ts'
import {
  COMPARISONS,
  fieldOf,
  type Json,
  type JsonExpr,
  type JsonPath,
  MAX_AGO_SECS,
  MAX_DEPTH,
  MAX_EXPRS,
  MAX_NAMES,
  MAX_PATH,
  partsOf,
} from './expr.ts'
import { readRequirement } from './version-requirement.ts'

/**
 * A mistake in a predicate: its place, as a path in the tree, the value found there, and the value expected. `part` is the path from there to
 * the value, if it is a part of an expression.
 */
export type Problem = { at: string; found: string; expected: string; part?: string }

/** Type of an expression's value, if every device gives it the same one. */
type ExprType = 'boolean' | 'number' | 'text' | 'time' | 'null' | 'array' | 'object' | 'any'

const TYPES_OF_FIELDS = { text: 'text', time: 'time', count: 'number', boolean: 'boolean' } as const

/** The type of the field of a device; undefined if there is no such field. */
function typeOfField(field: string): ExprType | undefined {
  return Object.hasOwn(DEVICE_FIELDS, field)
    ? TYPES_OF_FIELDS[DEVICE_FIELDS[field as DeviceFieldName].type]
    : undefined
}

/** The type of an expression's value. */
function typeOf(expr: JsonExpr): ExprType {
  switch (expr.kind) {
    case 'Literal':
      return typeOfJson(expr.value)
    case 'NamedValue': {
      const field = fieldOf(expr.name)
      const type = field === undefined ? 'any' : (typeOfField(field) ?? 'any')
      return !expr.default || typeOf(expr.default) === type ? type : 'any'
    }
    case 'Current':
    case 'Get':
      return 'any'
    case 'Ago':
      return 'time'
    default:
      return 'boolean'
  }
}

function typeOfJson(value: Json): ExprType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'string' ? 'text' : (type as 'boolean' | 'number' | 'object')
}

/**
 * Problems of a predicate, at most 20: unknown fields, values of a type that never fits, and bounds on depth, size and paths. The expression
 * of a mutation may have any type, and may read the current value.
 */
export function problemsOf(predicate: JsonExpr, use: 'condition' | 'mutation' = 'condition'): Problem[] {
  const problems: Problem[] = []
  const names = new Set<string>()
  let count = 0
  // An expression beyond the bound of the depth is not entered, so that no input overflows the stack.
  const visit = (expr: JsonExpr, at: string, depth: number) => {
    count += 1
    if (count > MAX_EXPRS || problems.length >= 20) return
    if (depth > MAX_DEPTH) {
      problems.push({ at, found: `expressions nested ${depth} deep`, expected: `at most ${MAX_DEPTH}` })
      return
    }
    if (expr.kind === 'NamedValue' && fieldOf(expr.name) === undefined) names.add(expr.name)
    if (expr.kind !== 'Current' || use === 'condition')
      for (const problem of problemsHere(expr)) problems.push({ at, ...problem })
    for (const [part, inner] of partsOf(expr)) visit(inner, at ? `${at}.${part}` : part, depth + 1)
  }
  visit(predicate, '', 1)
  if (names.size > MAX_NAMES)
    problems.push({ at: '', found: `${names.size} properties`, expected: `at most ${MAX_NAMES}` })
  if (count > MAX_EXPRS)
    problems.push({ at: '', found: `more than ${MAX_EXPRS} expressions`, expected: `at most ${MAX_EXPRS}` })
  else if (use === 'condition' && !isOneOf(predicate, ['boolean']))
    problems.push({ at: '', found: wordsFor(predicate), expected: 'a condition' })
  return problems
}

type LocalProblem = Omit<Problem, 'at'>

function problemsHere(expr: JsonExpr): LocalProblem[] {
  switch (expr.kind) {
    case 'Current':
      return [{ found: 'Current', expected: 'a value of the device: only mutations have a current value' }]
    case 'NamedValue':
      return [...wrongField(expr.name), ...noCondition(expr.default)]
    case 'Get':
      return [...longPath(expr.path), ...noCondition(expr.expr), ...noCondition(expr.default)]
    case 'Exists':
      return [...longPath(expr.path), ...noCondition(expr.expr)]
    case 'And':
    case 'Or':
      return expr.exprs.length === 0
        ? [{ found: `${expr.kind} without conditions`, expected: 'at least one condition' }]
        : expr.exprs.flatMap((one, index) => wrongType(one, ['boolean'], 'a condition', `exprs.${index}`))
    case 'Not':
      return wrongType(expr.expr, ['boolean'], 'a condition', 'expr')
    case 'In':
      return wrongType(expr.right, ['array'], 'a list', 'right')
    case 'Contains':
      return SIDES.flatMap(side => wrongType(expr[side], ['text'], 'a text', side))
    case 'VersionRequirement':
      return [...wrongType(expr.expr, ['text'], 'a text', 'expr'), ...wrongRequirement(expr.requirement)]
    case 'Ago':
      return expr.secs <= MAX_AGO_SECS
        ? []
        : [{ found: `${expr.secs} s ago`, expected: `at most ${MAX_AGO_SECS} s` }]
    case 'Literal':
      return isStorable(expr.value)
        ? []
        : [
            {
              found: 'a value with U+0000, half a character or no number',
              expected: 'a value that the database can hold',
            },
          ]
    case 'Equals':
    case 'NotEquals':
      return []
    default:
      return wrongOrder(expr.left, expr.right)
  }
}

function wrongField(name: string): LocalProblem[] {
  const field = fieldOf(name)
  if (field === undefined || typeOfField(field)) return []
  const found = `the field ${JSON.stringify(field.slice(0, 100))}`
  return [{ found, expected: `one of ${Object.keys(DEVICE_FIELDS).join(', ')}` }]
}

function wrongRequirement(requirement: string): LocalProblem[] {
  if (readRequirement(requirement)) return []
  const found = `the requirement ${JSON.stringify(requirement.slice(0, 100))}`
  return [{ found, expected: 'comparisons of versions, such as >=1.2.0, <2.0.0' }]
}

function longPath({ length }: JsonPath): LocalProblem[] {
  return length > MAX_PATH
    ? [{ found: `a path of ${length} parts`, expected: `at most ${MAX_PATH} parts` }]
    : []
}

/** A default stands for a value that is not set. A condition that cannot be evaluated is something else, so it has no default. */
function noCondition(expr: JsonExpr | undefined): LocalProblem[] {
  return expr && CONDITIONS.has(expr.kind) ? [{ found: 'a condition', expected: 'a value' }] : []
}

const CONDITIONS = new Set<JsonExpr['kind']>([
  ...COMPARISONS,
  'In',
  'Contains',
  'And',
  'Or',
  'Not',
  'Exists',
  'VersionRequirement',
])

/** Whether the database can hold a value. It has no U+0000 and no half of a surrogate pair. */
function isStorable(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value === 'boolean') return true
  return Object.entries(value).every(([name, inner]) => isStorable(name) && isStorable(inner))
}

/** Problems of two values that have an order only among numbers and among texts, of which times are some. */
function wrongOrder(left: JsonExpr, right: JsonExpr): LocalProblem[] {
  const pair = { left, right }
  const found = SIDES.flatMap(side =>
    wrongType(pair[side], ['number', 'text', 'time'], 'a number, a text or a time', side),
  )
  if (found.length > 0) return found
  const [one, other] = [typeOf(left), typeOf(right)].map(type => (type === 'time' ? 'text' : type))
  return one === other || one === 'any' || other === 'any'
    ? []
    : [{ found: `${wordsFor(left)} and ${wordsFor(right)}`, expected: 'two numbers or two texts' }]
}

/** The two sides of a comparison. */
const SIDES = ['left', 'right'] as const

function wrongType(expr: JsonExpr, types: ExprType[], expected: string, part: string): LocalProblem[] {
  return isOneOf(expr, types) ? [] : [{ found: wordsFor(expr), expected, part }]
}

function isOneOf(expr: JsonExpr, types: ExprType[]): boolean {
  const type = typeOf(expr)
  return type === 'any' || types.includes(type)
}

const WORDS: Record<ExprType, string> = {
  boolean: 'a truth value',
  number: 'a number',
  text: 'a text',
  time: 'a time',
  null: 'null',
  array: 'a list',
  object: 'an object',
  any: 'a value',
}

function wordsFor(expr: JsonExpr): string {
  return WORDS[typeOf(expr)]
}
