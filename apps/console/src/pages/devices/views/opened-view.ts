import type { ColumnView } from '../list/column-view.ts'

/** The saved view in the address, once the page has taken over its filter and order. */
export type OpenedView = {
  viewId: string
  /** Its columns, with the changes that are not saved; undefined if the view has the columns of each person. */
  columns?: ColumnView | undefined
  /** Set for a view that was deleted, or that the person may not see. The list is then not filtered by it. */
  isGone?: true
}
