import {
  type ActionInput,
  type ActionOutput,
  isColumnPath,
  MAX_PROPERTY_COLUMNS,
} from '@muster/actions/client'
import { COLUMN_IDS, propertyColumn, propertyOf } from './column-ids.ts'

/**
 * A user's choice for the device list: the visible columns after Name from left to right, changed widths in pixels by column, and the sort
 * order if it is not the default one.
 */
export type ColumnView = {
  columns: readonly string[]
  widths: Readonly<Record<string, number>>
  sort?: string
}

/** Columns of a person who has chosen nothing: all, in the order of docs/specification.md 2. */
export const DEFAULT_VIEW: ColumnView = { columns: COLUMN_IDS.slice(1), widths: {} }

/** Whether a view is the default one, whose columns are hidden one by one in narrow windows. */
export function isDefaultView({ columns, widths }: ColumnView): boolean {
  return columns.join() === DEFAULT_VIEW.columns.join() && Object.keys(widths).length === 0
}

/** The given properties that get a column in addition to the view's columns, without paths that are too long for a column. At most `MAX_PROPERTY_COLUMNS` columns show properties. */
export function columnsBeside({ columns }: ColumnView, properties: readonly string[]): string[] {
  const chosen = columns.flatMap(id => propertyOf(id) ?? [])
  const others = [...new Set(properties)].filter(path => !chosen.includes(path) && isColumnPath(path))
  return others.slice(0, Math.max(0, MAX_PROPERTY_COLUMNS - chosen.length))
}

/** The view that the hub has stored, or the default view. Columns that this version of the console does not know are left out. */
export function readView({ columns, nameWidthPx, order }: ActionOutput<'users_GetView'>): ColumnView {
  const sorted = order === undefined ? {} : { sort: order }
  if (!columns) return { ...DEFAULT_VIEW, widths: nameWidthPx ? { name: nameWidthPx } : {}, ...sorted }
  const known = columns.flatMap(column => {
    if ('property' in column) return [{ id: propertyColumn(column.property), widthPx: column.widthPx }]
    return COLUMN_IDS.includes(column.column)
      ? [{ id: column.column as string, widthPx: column.widthPx }]
      : []
  })
  const widths = [{ id: 'name', widthPx: nameWidthPx }, ...known].filter(({ widthPx }) => widthPx)
  return {
    columns: known.map(({ id }) => id),
    widths: Object.fromEntries(widths.map(({ id, widthPx }) => [id, widthPx!])),
    ...sorted,
  }
}

/**
 * Input of the action that saves a view. For the default view, no columns are sent, so that it follows later changes of the console's
 * default.
 */
export function writeView(projectId: string, view: ColumnView): ActionInput<'users_SetView'> {
  const { columns, widths, sort } = view
  const order = sort === undefined ? {} : { order: sort }
  if (isDefaultView(view)) return { projectId, ...order }
  return {
    projectId,
    ...order,
    columns: columns.map(id => {
      const property = propertyOf(id)
      const width = widths[id] === undefined ? {} : { widthPx: widths[id] }
      return property === undefined ? { column: id as 'status', ...width } : { property, ...width }
    }),
    ...(widths.name !== undefined && { nameWidthPx: widths.name }),
  }
}
