import { fieldsWith } from '@muster/predicates'

/** Ids of the columns that do not show a property, in their default order. */
export const COLUMN_IDS = fieldsWith({})

/** Id of the column that shows a property. The prefix `=` keeps a property `status` apart from the column `status`. */
export function propertyColumn(path: string): string {
  return `=${path}`
}

/** Path of the error of a failed update, whose column comes with the preset of failed updates. */
export const LAST_ERROR = 'dev.nexigon.ota.status.lastError'

/** Path of the property that a column shows; `undefined` for the other columns. */
export function propertyOf(columnId: string): string | undefined {
  return columnId.startsWith('=') ? columnId.slice(1) : undefined
}
