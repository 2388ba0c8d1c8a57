import { type JsonExpr, LABELS, printPredicate } from '@muster/predicates'
import { type Item, type Leaf, leafOf, writeItems } from './items.ts'
import { readWhere, type Where, whereOfItems } from './read-where.ts'

/** Place of a condition in the form: its index, or the index of its group, a dot, and its index there. */
type Place = string

/** The conditions after a change, with the search parameter for them; `text` is undefined without conditions. */
export type Edit = { text: string | undefined; where: Where }

const EMPTY: Where = { filter: {}, shown: [], items: [], text: '', isText: false }

/** The condition at a place of the form. */
export function leafAt(where: Where | undefined, place: Place): Leaf | undefined {
  const [outer, inner] = place.split('.').map(Number)
  const item = where?.items?.[outer!]
  return item && 'any' in item ? item.any[inner!] : item
}

/** Adds a condition, or replaces the one at a place. A predicate that the form cannot show gets the condition after it. */
export function withLeaf(where: Where = EMPTY, place: Place | undefined, leaf: Leaf): Edit {
  const { items, isText } = where
  if (items) {
    const next = place === undefined ? [...items, leaf] : changed(items, place, [leaf])
    return editOf(next, isText)
  }
  const before = where.filter.predicate
  return before ? ofExpr({ kind: 'And', exprs: [before, leaf.expr] }) : editOf([leaf], isText)
}

/** Finds the devices with a label, instead of those with another value of its key. */
export function withLabel(where: Where = EMPTY, key: string, value: string): Edit {
  const property = `${LABELS}.${key}`
  const index = where.items?.findIndex(item => !('any' in item) && item.condition.property === property) ?? -1
  return withLeaf(
    where,
    index === -1 ? undefined : String(index),
    leafOf({ property, operator: 'equals', value }),
  )
}

/** Removes the condition at a place of the form. */
export function withoutLeaf({ items = [], isText }: Where, place: Place): Edit {
  return editOf(changed(items, place, []), isText)
}

/** Makes one group of the parts before and after an index, of which one must hold. */
export function joinedAt({ items = [], isText }: Where, index: number): Edit {
  const leaves = [items[index - 1]!, items[index]!].flatMap(item => ('any' in item ? item.any : [item]))
  return editOf(items.toSpliced(index - 1, 2, { any: leaves }), isText)
}

/** Takes a group apart, so that all of its conditions must hold. */
export function splitAt({ items = [], isText }: Where, index: number): Edit {
  const item = items[index]!
  return editOf('any' in item ? items.toSpliced(index, 1, ...item.any) : [...items], isText)
}

function changed(items: readonly Item[], place: Place, leaves: Leaf[]): Item[] {
  const [outer, inner] = place.split('.').map(Number)
  const item = items[outer!]
  if (!item || !('any' in item)) return items.toSpliced(outer!, 1, ...leaves)
  const any = item.any.toSpliced(inner!, 1, ...leaves)
  const next: Item[] = any.length > 1 ? [{ any }] : any
  return items.toSpliced(outer!, 1, ...next)
}

function editOf(items: Item[], isText: boolean): Edit {
  return { text: writeItems(items, isText), where: whereOfItems(items, isText) }
}

function ofExpr(expr: JsonExpr): Edit {
  const text = printPredicate(expr)
  return { text, where: readWhere(text) }
}
