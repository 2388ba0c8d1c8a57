import { type COMPARISONS, fieldOf, type JsonExpr, type JsonPath, LABELS } from './expr.ts'

/** Sign of each comparison in the text form. */
export const SIGNS: Record<(typeof COMPARISONS)[number], string> = {
  Equals: '=',
  NotEquals: '!=',
  LessThan: '<',
  LessThanOrEquals: '<=',
  GreaterThan: '>',
  GreaterThanOrEquals: '>=',
}

/** Units of a time that has passed, each in seconds, the longest first. */
export const UNITS = { d: 86_400, h: 3_600, min: 60, s: 1 } as const

/** Words of the text form that are no names of properties. */
export const KEYWORDS = [
  'and',
  'or',
  'not',
  'in',
  'contains',
  'exactly',
  'exists',
  'satisfies',
  'else',
  'ago',
  'true',
  'false',
  'null',
  'label',
  'device',
  'property',
  'current',
]

/** How tightly a form binds: a part that binds less tightly than its place needs brackets. */
const BINDS = { or: 1, and: 2, not: 3, comparison: 4, otherwise: 5, value: 6 }

/** The text form of a predicate (docs/predicates.md). Reading it gives a predicate that means the same. */
export function printPredicate(expr: JsonExpr): string {
  return printed(expr, BINDS.or)
}

function printed(expr: JsonExpr, place: number): string {
  const [binds, text] = textOf(expr)
  return binds < place ? `(${text})` : text
}

function textOf(expr: JsonExpr): [binds: number, text: string] {
  switch (expr.kind) {
    case 'Literal':
      return [BINDS.value, JSON.stringify(expr.value)]
    case 'Current':
      return [BINDS.value, 'current']
    case 'NamedValue':
      return withDefault(nameText(expr.name), expr.default)
    case 'Get':
      // Without a path and a default it is the value itself.
      if (expr.path.length === 0 && !expr.default) return textOf(expr.expr)
      return withDefault(pathText(expr.expr, expr.path), expr.default)
    case 'Exists':
      return [BINDS.otherwise, `exists ${pathText(expr.expr, expr.path)}`]
    case 'Ago':
      return [BINDS.value, agoText(expr.secs)]
    case 'And':
    case 'Or': {
      const word = expr.kind === 'And' ? 'and' : 'or'
      const parts = expr.exprs.map(part => printed(part, BINDS[word] + 1))
      // One condition alone would read as itself.
      return parts.length === 1 ? textOf(expr.exprs[0]!) : [BINDS[word], parts.join(` ${word} `)]
    }
    case 'Not':
      return [BINDS.not, `not ${printed(expr.expr, BINDS.not)}`]
    case 'In':
      return comparison(expr.left, 'in', expr.right)
    case 'VersionRequirement': {
      const version = printed(expr.expr, BINDS.otherwise)
      return [BINDS.comparison, `${version} satisfies ${JSON.stringify(expr.requirement)}`]
    }
    case 'Contains':
      return comparison(expr.left, expr.ignoreCase ? 'contains' : 'contains exactly', expr.right)
    default:
      return comparison(expr.left, SIGNS[expr.kind], expr.right)
  }
}

function comparison(left: JsonExpr, sign: string, right: JsonExpr): [number, string] {
  return [BINDS.comparison, `${printed(left, BINDS.otherwise)} ${sign} ${printed(right, BINDS.otherwise)}`]
}

function withDefault(text: string, fallback: JsonExpr | undefined): [number, string] {
  return fallback
    ? [BINDS.otherwise, `${text} else ${printed(fallback, BINDS.otherwise)}`]
    : [BINDS.value, text]
}

function nameText(name: string): string {
  if (name === LABELS) return 'label'
  const field = fieldOf(name)
  if (field !== undefined && isWord(field)) return `device.${field}`
  return isWord(name) && !KEYWORDS.includes(name) ? name : `property[${JSON.stringify(name)}]`
}

function pathText(expr: JsonExpr, path: JsonPath): string {
  if (expr.kind === 'Get' && expr.path.length === 0 && !expr.default) return pathText(expr.expr, path)
  const isName = expr.kind === 'NamedValue' && !expr.default
  const root = isName ? nameText(expr.name) : `(${printPredicate(expr)})`
  return root + path.map(part => (isWord(part) ? `.${part}` : `[${JSON.stringify(part)}]`)).join('')
}

function isWord(part: string | number): boolean {
  return typeof part === 'string' && /^[A-Za-z_]\w*$/.test(part)
}

function agoText(secs: number): string {
  const [unit, length] = Object.entries(UNITS).find(([, length]) => secs % length === 0) ?? ['s', 1]
  return `${secs / length} ${unit} ago`
}
