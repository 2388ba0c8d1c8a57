import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { type JsonExpr, printPredicate } from '@muster/predicates'
import { HEALTHS, PRESETS } from '../list/attention.ts'
import { type ColumnView, readView, writeView } from '../list/column-view.ts'
import { exprOf, exprOfItems, leafOf, writeItems } from '../predicate/items.ts'
import { type Condition, durationOf } from '../shared/conditions.ts'
import { type DeviceSearch, deviceFilters } from '../shared/device-search.ts'
import { writeSoftware } from '../shared/software-condition.ts'

/** A saved view, as the hub answers. */
export type View = ActionOutput<'views_Query'>['views'][number]
type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>
/** What a view keeps of the list. */
export type Kept = Pick<ActionInput<'views_Create'>, 'conditions' | 'columns' | 'order'>

/** Search parameters of the device list for the filter of a view. Parts of a filter that the page has no parameter for become conditions. */
function searchOf(filter: Filter): Partial<DeviceSearch> {
  const conditions: Condition[] = [
    ...(filter.properties ?? []),
    ...(filter.fields ?? []).flatMap(fieldCondition),
  ]
  const exprs: JsonExpr[] = [
    ...(filter.fields ?? []).flatMap(field =>
      fieldCondition(field).length === 0 ? [lastSeenExpr(field)] : [],
    ),
    ...(filter.predicate ? [filter.predicate] : []),
    ...(filter.targetVersion
      ? [exprOf({ property: '#targetVersion', operator: 'equals', value: filter.targetVersion })]
      : []),
    ...(filter.deviceIds
      ? [exprOf({ property: '#deviceId', operator: 'oneOf', value: [...filter.deviceIds] })]
      : []),
    ...(filter.health === 'offline'
      ? [exprOf({ property: '#status', operator: 'equals', value: 'offline' })]
      : []),
    ...(filter.preset === 'sharedIdentity'
      ? [exprOf({ property: '#sharedIdentity', operator: 'equals', value: 'true' })]
      : []),
    ...(filter.preset === 'certificateEnds'
      ? [exprOf({ property: '#certificateEnds', operator: 'exists' })]
      : []),
  ]
  const failure = filter.updateFailure
  return {
    q: filter.text ?? undefined,
    address: filter.address ?? undefined,
    status: filter.status ?? undefined,
    health: HEALTHS.find(health => health === filter.health),
    show: PRESETS.find(preset => preset === filter.preset),
    where: whereOf(conditions, exprs),
    error: failure?.error ?? filter.updateError ?? undefined,
    target: failure ? `=${failure.targetVersion ?? ''}` : undefined,
    token: filter.tokenId ?? undefined,
    software: filter.software ? writeSoftware(filter.software) : undefined,
    result: filter.bulkActionId ?? undefined,
  }
}

function whereOf(conditions: Condition[], exprs: JsonExpr[]): string | undefined {
  const items = conditions.map(leafOf)
  if (exprs.length === 0) return writeItems(items, false)
  const all = [...items.map(({ expr }) => expr), ...exprs]
  return printPredicate(all.length === 1 ? all[0]! : { kind: 'And', exprs: all })
}

type FieldCondition = NonNullable<Filter['fields']>[number]

/** A condition of the form for a part of `fields`; none for a time that is no whole number of minutes. */
function fieldCondition(condition: FieldCondition): Condition[] {
  const { field, operator } = condition
  const property = `#${field}`
  if (!('value' in condition)) return [{ property, operator }]
  if (typeof condition.value === 'string') return [{ property, operator, value: condition.value }]
  const value = durationOf(condition.value)
  return value === undefined ? [] : [{ property, operator, value }]
}

function lastSeenExpr(condition: FieldCondition): JsonExpr {
  const left: JsonExpr = { kind: 'NamedValue', name: 'dev.muster.device.lastSeen' }
  const secs = 'value' in condition ? Number(condition.value) : 0
  const kind = condition.operator === 'less' ? 'GreaterThan' : 'LessThan'
  return { kind, left, right: { kind: 'Ago', secs } }
}

/** What a view keeps of the list as it is: its filter, columns and order. */
export function savedOf(
  projectId: string,
  input: Pick<ActionInput<'projects_QueryDevices'>, 'filter' | 'sort'>,
  columns: ColumnView,
): Kept {
  const { bulkActionId: _, ...conditions } = input.filter ?? {}
  // The default columns of the console are written only with a width, and a view keeps them too.
  const { columns: written } = writeView(projectId, { ...columns, widths: { ...columns.widths, name: 1 } })
  return { conditions, columns: written, order: input.sort ?? undefined }
}

/** The columns of a view; undefined if each person sees their own. */
export function columnsOf(view: View): ColumnView | undefined {
  if (!view.columns) return undefined
  const { order, columns } = view
  return readView({ columns, order, leftOut: [] } as never)
}

/** Whether the list shows something other than the view keeps. */
export function isChanged(view: View, saved: Kept): boolean {
  const isSameColumns = !view.columns || canonical(view.columns) === canonical(saved.columns)
  const isSameOrder = !view.order || view.order === saved.order
  return !(canonical(view.conditions) === canonical(saved.conditions) && isSameColumns && isSameOrder)
}

/** JSON with the members of objects in the order of their names. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

/** The conditions of a view in words: the text form of its predicate, and the other parts of its filter. */
export function viewText(view: Pick<Kept, 'conditions'>): string {
  const { where, q, status, show, health, ...others } = searchOf(view.conditions)
  const further = Object.entries(others).filter(([, value]) => value !== undefined)
  const parts = [
    ...(where ? [whereText(where, view.conditions)] : []),
    ...[q && `“${q}”`, status, show, health].filter(Boolean),
    ...further.map(([name, value]) => `${name} ${value}`),
  ]
  return parts.length === 0 ? 'All devices' : parts.join(', ')
}

function whereText(where: string, { properties, fields }: Filter): string {
  if (!where.startsWith('[')) return where
  const leaves = [...(properties ?? []), ...(fields ?? []).flatMap(fieldCondition)].map(leafOf)
  const expr = exprOfItems(leaves)
  return expr ? printPredicate(expr) : where
}

/** The change of the address that takes its filter and order away. */
export const CLEARED: { [Name in keyof DeviceSearch]?: undefined } = Object.fromEntries(
  [...Object.keys(deviceFilters), 'view', 'sort', 'cursor'].map(name => [name, undefined]),
)

/** The change of the address that shows a view as it is saved. `order` is the one of a person whose view has none. */
export function openingOf(view: View, order: string): { [Name in keyof DeviceSearch]?: string | undefined } {
  return {
    ...CLEARED,
    ...searchOf(view.conditions),
    sort: view.order ?? order,
    view: view.viewId,
  }
}
