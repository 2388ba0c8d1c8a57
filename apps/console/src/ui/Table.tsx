import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import { TimesTogether } from './Time.tsx'

type SortButtonProps = {
  /** The column's name; the accessible name stays it alone. */
  children: ReactNode
  field: string
  /** Current order, descending with a leading `-`. */
  sort: string | undefined
  onSort: (sort: string) => void
}

/** A column head that sorts; `aria-sort` holds the state. */
export function SortHead({ children, field, sort, onSort }: SortButtonProps) {
  const isAscending = sort === field
  const isDescending = sort === `-${field}`
  const Icon = isDescending ? ArrowDown : ArrowUp
  return (
    <th
      scope="col"
      {...(isAscending && { 'aria-sort': 'ascending' })}
      {...(isDescending && { 'aria-sort': 'descending' })}
    >
      <button
        type="button"
        aria-description={isAscending ? 'Sort descending' : 'Sort ascending'}
        onClick={() => onSort(isAscending ? `-${field}` : field)}
      >
        {children}
        {(isAscending || isDescending) && <Icon className="i i-14" aria-hidden />}
      </button>
    </th>
  )
}

type TableProps = {
  /** Name of the table for screen readers. */
  caption: string
  /** The row of column heads. */
  head: ReactNode
  /** Rows, or `SkeletonRows` while they load. */
  children: ReactNode
  busy?: boolean
  dense?: boolean
  /** On phones each row becomes lines of label and value; cells carry the label in `data-k`. */
  rowsOnPhones?: boolean
  /** Widths of the columns in pixels, for tables that must not move with what is in them; without one a column takes the rest. */
  widths?: readonly (number | undefined)[]
  /** Without a sheet of its own, for use inside one. */
  bare?: boolean
}

/** A table in a sheet; wider than the screen, the sheet scrolls. */
export function Table({
  caption,
  head,
  children,
  busy = false,
  dense = false,
  rowsOnPhones = false,
  widths,
  bare = false,
}: TableProps) {
  const className = `tbl${dense ? ' dense' : ''}${rowsOnPhones ? ' rows' : ''}${widths ? ' fixed' : ''}`
  return (
    <div className={bare ? undefined : 'sheet'}>
      {/* biome-ignore lint/a11y/noRedundantRoles: a changed `display` on small screens takes the roles away */}
      <table role="table" className={className} aria-busy={busy}>
        <caption className="sr">{caption}</caption>
        {widths && (
          <colgroup>
            {widths.map((width, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns are their places
              <col key={index} width={width} />
            ))}
          </colgroup>
        )}
        <thead>{head}</thead>
        <tbody>
          <TimesTogether>{children}</TimesTogether>
        </tbody>
      </table>
    </div>
  )
}

/** A row of a table; `detail` is what the row above opens to. */
export function Row({ detail = false, children }: { detail?: boolean; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: a changed `display` on small screens takes the roles away
    <tr role="row" {...(detail && { className: 'detail' })}>
      {children}
    </tr>
  )
}

type CellProps = {
  /** The column's name, shown beside the value on phones. */
  label?: string
  /** Stands at the right edge, for buttons. */
  end?: boolean
  span?: number
  children: ReactNode
}

/** A cell of a row. */
export function Cell({ label, end = false, span, children }: CellProps) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: a changed `display` on small screens takes the roles away
    <td role="cell" {...(label && { 'data-k': label })} {...(end && { className: 'r' })} colSpan={span}>
      {children}
    </td>
  )
}
