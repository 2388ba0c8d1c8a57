import type { ActionInput } from '@muster/actions/client'
import {
  fieldOf,
  type JsonExpr,
  LABELS,
  PredicateTextError,
  partsOf,
  printPredicate,
  problemsOf,
  readPlaced,
} from '@muster/predicates'
import { filterOfConditions, parseConditions } from '../shared/conditions.ts'
import { exprOfItems, type Item, isJsonForm, itemsOf, leafOf } from './items.ts'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>

/** Why a text is no predicate, with the place of the wrong part in the text. */
export type TextProblem = {
  /** Line and column, which begin with 1. */
  line: number
  column: number
  /** Index and length of the wrong part. */
  at: number
  length: number
  found: string
  expected: string
  suggestion?: string | undefined
}

/** What the search parameter `where` of the device list says. */
export type Where = {
  /** Its part of the hub's filter. */
  filter: Pick<Filter, 'properties' | 'fields' | 'predicate'>
  /** Properties and labels that get a column, because they are compared. */
  shown: string[]
  /** The parts of the form; undefined if the form cannot show the predicate. */
  items: Item[] | undefined
  /** Text form of the predicate. A text that was read stays as it was typed. */
  text: string
  /** Whether the parameter is a text. Older addresses have JSON. */
  isText: boolean
  problem?: TextProblem
}

/** Reads the search parameter `where`: conditions as JSON, or the text of a predicate. A wrong text filters nothing, and has a `problem`. */
export function readWhere(text: string): Where {
  if (isJson(text)) return whereOfItems(parseConditions(text).map(leafOf))
  const read = readText(text)
  if ('problem' in read)
    return { filter: {}, shown: [], items: undefined, text, isText: true, problem: read.problem }
  const { expr } = read
  return { filter: { predicate: expr }, shown: shownBy(expr), items: itemsOf(expr), text, isText: true }
}

/** What the form says with these parts. */
export function whereOfItems(items: Item[], isText = false): Where {
  const expr = exprOfItems(items)
  const predicate = expr && { predicate: expr }
  return {
    filter: isJsonForm(items, isText)
      ? filterOfConditions(items.map(({ condition }) => condition))
      : (predicate ?? {}),
    shown: expr ? shownBy(expr) : [],
    items,
    text: expr ? printPredicate(expr) : '',
    isText,
  }
}

/** A list is no condition, so that a text which is JSON as a whole is an older address. */
function isJson(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}

/** Reads the text of a predicate and checks the types of its values. */
export function readText(text: string): { expr: JsonExpr } | { problem: TextProblem } {
  try {
    const { expr, starts } = readPlaced(text)
    const [wrong] = problemsOf(expr)
    if (!wrong) return { expr }
    const { found, expected, part = '' } = wrong
    const at = startOf(expr, `${wrong.at}.${part}`, starts)
    return { problem: { ...placeOf(text, at), at, length: lengthAt(text, at), found, expected } }
  } catch (error) {
    if (!(error instanceof PredicateTextError)) throw error
    const { line, column, found, expected, suggestion } = error
    const at =
      text
        .split('\n')
        .slice(0, line - 1)
        .join('\n').length +
      (line > 1 ? 1 : 0) +
      column -
      1
    return { problem: { line, column, at, length: lengthAt(text, at), found, expected, suggestion } }
  }
}

/** Where a part of the tree begins in the text, or the nearest part around it whose beginning is known. */
function startOf(expr: JsonExpr, path: string, starts: ReadonlyMap<JsonExpr, number>): number {
  const around = [expr]
  for (const step of path.split('.').filter(Boolean)) {
    const inner = (around.at(-1) as unknown as Record<string, JsonExpr>)[step]
    if (inner) around.push(inner)
  }
  return around.map(part => starts.get(part)).findLast(start => start !== undefined) ?? 0
}

/** Line and column of an index in the text. */
export function placeOf(text: string, at: number): { line: number; column: number } {
  const lines = text.slice(0, at).split('\n')
  return { line: lines.length, column: lines.at(-1)!.length + 1 }
}

/** Length of the word, text or sign at an index, at least 1. */
function lengthAt(text: string, at: number): number {
  return /^(?:[\w.]+|"(?:[^"\\\n]|\\.)*"?|\S)/.exec(text.slice(at))?.[0].length ?? 1
}

/** Properties and labels that an expression compares, as paths of columns. */
function shownBy(expr: JsonExpr): string[] {
  const paths: string[] = []
  const visit = (part: JsonExpr, isAbsent: boolean) => {
    if (part.kind === 'NamedValue' && fieldOf(part.name) === undefined && part.name !== LABELS && !isAbsent)
      paths.push(part.name)
    const isPath = part.kind === 'Get' || part.kind === 'Exists'
    if (isPath && part.expr.kind === 'NamedValue') {
      if (!isAbsent && fieldOf(part.expr.name) === undefined)
        paths.push([part.expr.name, ...part.path].join('.'))
      if (part.kind === 'Get' && part.default) visit(part.default, isAbsent)
      return
    }
    for (const [, inner] of partsOf(part)) visit(inner, part.kind === 'Not' && inner.kind === 'Exists')
  }
  visit(expr, false)
  return [...new Set(paths)]
}
