import {
  FIELD_PREFIX,
  fieldOf,
  type Json,
  type JsonExpr,
  LABELS,
  printPredicate,
  readPredicate,
} from '@muster/predicates'
import {
  type Condition,
  durationOf,
  isColumnName,
  isPlain,
  isTimeColumn,
  labelOf,
  PROPERTY,
  type Scalar,
  secsOf,
  typeOfSubject,
  writeConditions,
} from '../shared/conditions.ts'

/** A condition of the form with the expression that it stands for. An expression is kept as it was read until the condition changes. */
export type Leaf = { condition: Condition; expr: JsonExpr }
/** A part of the form, of which all parts must hold: a condition, or conditions of which one must hold. */
export type Item = Leaf | { any: Leaf[] }

/** A condition as a part of the form. */
export function leafOf(condition: Condition): Leaf {
  return { condition, expr: exprOf(condition) }
}

/** Conditions of the items, in their order. */
export function leavesOf(items: readonly Item[]): Leaf[] {
  return items.flatMap(item => ('any' in item ? item.any : [item]))
}

/** The predicate in the parts of the form: conditions joined by `and`, and groups of them joined by `or`. Undefined if it is anything else. */
export function itemsOf(expr: JsonExpr): Item[] | undefined {
  const condition = conditionOf(expr)
  if (condition) return [{ condition, expr }]
  if (expr.kind === 'And') {
    const parts = expr.exprs.map(itemsOf)
    return parts.every(part => part !== undefined) ? parts.flat() : undefined
  }
  if (expr.kind !== 'Or') return undefined
  const any = expr.exprs.map(part => ({ condition: conditionOf(part), expr: part }))
  return any.every((leaf): leaf is Leaf => leaf.condition !== undefined) ? [{ any }] : undefined
}

/** Why the form cannot show a predicate. */
export function reasonOf(expr: JsonExpr): string {
  const isOfConditions = (part: JsonExpr): boolean => {
    if (conditionOf(part)) return true
    if (part.kind === 'Not') return isOfConditions(part.expr)
    return (part.kind === 'And' || part.kind === 'Or') && part.exprs.every(isOfConditions)
  }
  return isOfConditions(expr) ? 'This is too nested for the form.' : 'The form has no such condition.'
}

/** The predicate of the form; undefined without conditions. */
export function exprOfItems(items: readonly Item[]): JsonExpr | undefined {
  const exprs = items.map(item =>
    'any' in item
      ? joined(
          'Or',
          item.any.map(leaf => leaf.expr),
        )
      : item.expr,
  )
  return exprs.length === 0 ? undefined : joined('And', exprs)
}

function joined(kind: 'And' | 'Or', exprs: JsonExpr[]): JsonExpr {
  return exprs.length === 1 ? exprs[0]! : { kind, exprs }
}

/** Most conditions of a filter by `properties` and `fields` together in an address. */
const MAX_PLAIN = 8

/**
 * Whether the form can be written as JSON, as older addresses have it. A text stays one, because a predicate compares exactly:
 * `device.update = "FAILED"` does not find "failed".
 */
export function isJsonForm(items: readonly Item[], isText: boolean): items is Leaf[] {
  const isPlainLeaf = (item: Item) => !('any' in item) && isPlain(item.condition)
  return !isText && items.length <= MAX_PLAIN && items.every(isPlainLeaf)
}

/** The search parameter `where` for the form; undefined without conditions. */
export function writeItems(items: readonly Item[], isText: boolean): string | undefined {
  if (isJsonForm(items, isText)) return writeConditions(items.map(({ condition }) => condition))
  const expr = exprOfItems(items)
  return expr && printPredicate(expr)
}

/** The value that a condition compares. Throws for a subject that is none. */
export function subjectExpr(subject: string): JsonExpr {
  if (isColumnName(subject)) return { kind: 'NamedValue', name: FIELD_PREFIX + subject.slice(1) }
  const label = labelOf(subject)
  if (label !== undefined) return { kind: 'Get', expr: { kind: 'NamedValue', name: LABELS }, path: [label] }
  return PROPERTY.test(subject) ? { kind: 'NamedValue', name: subject } : readPredicate(subject)
}

/** Subject of a condition for a value; undefined if it has a default, or is no value of a device. */
function subjectOf(expr: JsonExpr): string | undefined {
  if (expr.kind === 'NamedValue') {
    if (expr.default) return undefined
    const field = fieldOf(expr.name)
    if (field !== undefined) return isColumnName(`#${field}`) ? `#${field}` : undefined
    if (expr.name === LABELS) return undefined
    return PROPERTY.test(expr.name) ? expr.name : printPredicate(expr)
  }
  if (expr.kind !== 'Get' || expr.default || expr.expr.kind !== 'NamedValue' || expr.expr.default)
    return undefined
  if (expr.expr.name !== LABELS)
    return fieldOf(expr.expr.name) === undefined ? printPredicate(expr) : undefined
  const subject = `${LABELS}.${expr.path.join('.')}`
  return expr.path.length === 1 && labelOf(subject) !== undefined ? subject : undefined
}

const ORDERS = {
  less: 'LessThan',
  greater: 'GreaterThan',
  atMost: 'LessThanOrEquals',
  atLeast: 'GreaterThanOrEquals',
} as const

/** The expression of a condition. `is not` also holds for devices without the value, as in filters by `properties`. */
export function exprOf({ property, operator, value = '' }: Condition): JsonExpr {
  const subject = subjectExpr(property)
  const isLabel = labelOf(property) !== undefined
  const literal = (one: Scalar): JsonExpr => ({ kind: 'Literal', value: isLabel ? String(one) : one })
  const values = (Array.isArray(value) ? value : [value]).map(one => (isLabel ? String(one) : one))
  const single = values[0]!
  const list: JsonExpr = { kind: 'Literal', value: values }
  const isThere: JsonExpr =
    subject.kind === 'Get'
      ? { kind: 'Exists', expr: subject.expr, path: subject.path }
      : { kind: 'Exists', expr: subject, path: [] }
  const orAbsent = (expr: JsonExpr): JsonExpr => ({
    kind: 'Or',
    exprs: [{ kind: 'Not', expr: isThere }, expr],
  })
  switch (operator) {
    case 'exists':
      return isThere
    case 'absent':
      return { kind: 'Not', expr: isThere }
    case 'equals':
      if (typeOfSubject(property) === 'boolean')
        return String(single) === 'false' ? { kind: 'Not', expr: subject } : subject
      return { kind: 'Equals', left: subject, right: literal(single) }
    case 'notEquals':
      return orAbsent({ kind: 'NotEquals', left: subject, right: literal(single) })
    case 'oneOf':
      return { kind: 'In', left: subject, right: list }
    case 'noneOf':
      return orAbsent({ kind: 'Not', expr: { kind: 'In', left: subject, right: list } })
    case 'differs':
      return values.length === 1
        ? { kind: 'NotEquals', left: subject, right: literal(single) }
        : { kind: 'Not', expr: { kind: 'In', left: subject, right: list } }
    case 'contains':
      return { kind: 'Contains', left: subject, right: literal(String(single)), ignoreCase: true }
    case 'satisfies':
      return { kind: 'VersionRequirement', expr: subject, requirement: String(single) }
    default: {
      if (!isTimeColumn(property)) return { kind: ORDERS[operator], left: subject, right: literal(single) }
      // Less time ago is a later time.
      const kind = operator === 'less' ? 'GreaterThan' : 'LessThan'
      return { kind, left: subject, right: { kind: 'Ago', secs: secsOf(String(single)) ?? 0 } }
    }
  }
}

/** The condition of the form for an expression; undefined if the form has none. */
function conditionOf(expr: JsonExpr): Condition | undefined {
  switch (expr.kind) {
    case 'NamedValue': {
      const property = subjectOf(expr)
      const isBoolean = property !== undefined && typeOfSubject(property) === 'boolean'
      return isBoolean ? { property, operator: 'equals', value: 'true' } : undefined
    }
    case 'Not':
      return oppositeOf(conditionOf(expr.expr))
    case 'Or':
      return notOf(expr.exprs)
    case 'Exists': {
      const isPlainValue = expr.path.length === 0
      const value: JsonExpr = isPlainValue ? expr.expr : { kind: 'Get', expr: expr.expr, path: expr.path }
      return withSubject(value, property => ({ property, operator: 'exists' }))
    }
    case 'VersionRequirement': {
      const { requirement } = expr
      return withSubject(expr.expr, property => ({ property, operator: 'satisfies', value: requirement }))
    }
    case 'Literal':
    case 'Current':
    case 'Get':
    case 'And':
    case 'Ago':
      return undefined
    default: {
      const { right } = expr
      return withSubject(expr.left, property => comparison(expr.kind, property, right, expr))
    }
  }
}

function withSubject(
  expr: JsonExpr,
  make: (property: string) => Condition | undefined,
): Condition | undefined {
  const property = subjectOf(expr)
  return property === undefined ? undefined : make(property)
}

function comparison(
  kind: JsonExpr['kind'],
  property: string,
  right: JsonExpr,
  whole: JsonExpr,
): Condition | undefined {
  if (right.kind === 'Ago') {
    const value = durationOf(right.secs)
    if (!isTimeColumn(property) || value === undefined) return undefined
    if (kind === 'LessThan') return { property, operator: 'greater', value }
    return kind === 'GreaterThan' ? { property, operator: 'less', value } : undefined
  }
  if (right.kind !== 'Literal' || isTimeColumn(property)) return undefined
  const { value } = right
  if (kind === 'In')
    return Array.isArray(value) && value.length > 0 && value.every(one => fits(property, one))
      ? { property, operator: 'oneOf', value: value as Scalar[] }
      : undefined
  if (!fits(property, value)) return undefined
  if (kind === 'Contains')
    return typeof value === 'string' && whole.kind === 'Contains' && whole.ignoreCase
      ? { property, operator: 'contains', value }
      : undefined
  if (kind === 'Equals' && typeOfSubject(property) === 'boolean')
    return { property, operator: 'equals', value: String(value) }
  if (kind === 'Equals') return { property, operator: 'equals', value }
  if (kind === 'NotEquals') return { property, operator: 'differs', value: [value] }
  const operator = (Object.keys(ORDERS) as (keyof typeof ORDERS)[]).find(name => ORDERS[name] === kind)
  return operator && typeof value === 'number' ? { property, operator, value } : undefined
}

/** Whether the form keeps the type of a value: labels and fields with texts have only texts. */
function fits(property: string, value: Json): value is Scalar {
  const type = typeOfSubject(property)
  if (type === 'text' || labelOf(property) !== undefined) return typeof value === 'string'
  if (type === 'boolean') return typeof value === 'boolean'
  if (type === 'count') return typeof value === 'number'
  return value === null || typeof value !== 'object'
}

function oppositeOf(condition: Condition | undefined): Condition | undefined {
  if (!condition) return undefined
  const { property, operator, value } = condition
  if (operator === 'exists') return { property, operator: 'absent' }
  if (operator === 'equals' && typeOfSubject(property) === 'boolean')
    return { property, operator, value: value === 'false' ? 'true' : 'false' }
  if (operator === 'equals') return { property, operator: 'differs', value: [value as Scalar] }
  // The list of one value would be written as a comparison, which means the same.
  return operator === 'oneOf' ? { property, operator: 'differs', value: value! } : undefined
}

/** `not exists a or a != 1`, which the form calls "is not". */
function notOf(exprs: readonly JsonExpr[]): Condition | undefined {
  if (exprs.length !== 2) return undefined
  const [absent, other] = exprs.map(conditionOf)
  const isSame = absent?.operator === 'absent' && other?.operator === 'differs'
  if (!isSame || absent.property !== other.property) return undefined
  const { property, value } = other
  return exprs[1]!.kind === 'NotEquals'
    ? { property, operator: 'notEquals', value: (value as Scalar[])[0]! }
    : { property, operator: 'noneOf', value: value! }
}
