/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** Names of members and indexes of elements, from the outermost value inwards. */
export type JsonPath = (string | number)[]

/** Kinds of expressions that compare two values. */
export const COMPARISONS = [
  'Equals',
  'NotEquals',
  'LessThan',
  'LessThanOrEquals',
  'GreaterThan',
  'GreaterThanOrEquals',
] as const

type Pair = { left: JsonExpr; right: JsonExpr }

/**
 * An expression of the public protocol (docs/predicates.md). `Contains` and `Ago` are Muster's own. `NamedValue` reads a property of a
 * device, or a field of it by the prefix `dev.muster.device.`. `Current` is the value that a mutation changes.
 */
export type JsonExpr =
  | { kind: 'Literal'; value: Json }
  | { kind: 'Current' }
  | { kind: 'NamedValue'; name: string; default?: JsonExpr | undefined }
  | { kind: 'Get'; expr: JsonExpr; path: JsonPath; default?: JsonExpr | undefined }
  | ({ kind: (typeof COMPARISONS)[number] } & Pair)
  | ({ kind: 'In' } & Pair)
  | ({ kind: 'Contains'; ignoreCase?: boolean | undefined } & Pair)
  | { kind: 'And' | 'Or'; exprs: JsonExpr[] }
  | { kind: 'Not'; expr: JsonExpr }
  | { kind: 'Exists'; expr: JsonExpr; path: JsonPath }
  | { kind: 'VersionRequirement'; expr: JsonExpr; requirement: string }
  | { kind: 'Ago'; secs: number }

/** A change of a part of a value, as in the public protocol. `MergePatch` merges as RFC 7396 does. */
export type JsonMutation =
  | { mutation: 'Set' | 'MergePatch'; path: JsonPath; expr: JsonExpr }
  | { mutation: 'Remove'; path: JsonPath }

/** Prefix of the names of a device's fields. No property can have such a name. */
export const FIELD_PREFIX = 'dev.muster.device.'
/** Property with the labels of a device: an object whose members are texts. Only people write it. */
export const LABELS = 'dev.muster.labels'

/** Most expressions in a predicate, and deepest nesting. */
export const MAX_EXPRS = 200
export const MAX_DEPTH = 24
/** Most properties that a predicate reads. */
export const MAX_NAMES = 16
/** Most parts of a path, as in the public protocol. */
export const MAX_PATH = 32
/** Largest predicate, in characters of its JSON or text form. */
export const MAX_PREDICATE_LENGTH = 16_384
/** Longest time that `Ago` may go back: ten years of 365 days. */
export const MAX_AGO_SECS = 315_360_000

/** The expressions inside an expression, each with the part of it where it stands. */
export function partsOf(expr: JsonExpr): [part: string, JsonExpr][] {
  switch (expr.kind) {
    case 'Literal':
    case 'Current':
    case 'Ago':
      return []
    case 'NamedValue':
      return expr.default ? [['default', expr.default]] : []
    case 'Get':
      return [['expr', expr.expr], ...(expr.default ? [['default', expr.default] as [string, JsonExpr]] : [])]
    case 'And':
    case 'Or':
      return expr.exprs.map((part, index) => [`exprs.${index}`, part])
    case 'Not':
    case 'Exists':
    case 'VersionRequirement':
      return [['expr', expr.expr]]
    default:
      return [
        ['left', expr.left],
        ['right', expr.right],
      ]
  }
}

/** Name of the field of a device that a named value reads; undefined if it reads a property. */
export function fieldOf(name: string): string | undefined {
  return name.startsWith(FIELD_PREFIX) ? name.slice(FIELD_PREFIX.length) : undefined
}
