import { ArrowDown, ArrowUp } from 'lucide-react'
import {
  Children,
  createContext,
  Fragment,
  type ReactElement,
  type ReactNode,
  useContext,
  useMemo,
  useRef,
} from 'react'
import { useIsNarrow } from '../../lib/app/use-is-narrow.ts'
import { useShownFirst } from '../../lib/app/use-shown-first.ts'
import { TimesTogether } from './Time.tsx'
import { Gap, useVirtualRows } from './virtual-rows.tsx'

type SortButtonProps = {
  /** The column's name, which is also the accessible name of the sort button. */
  children: ReactNode
  field: string
  /** Current sort order: the name of a field, with a leading `-` if it is descending. */
  sort: string | undefined
  onSort: (sort: string) => void
  className?: string
  /** Content after the sort button, for example the handle with which the user changes the column's width. */
  after?: ReactNode
  /** Accessible name of the column head. Without it, the name would include the accessible name of `after`. */
  label?: string
}

/** A column head with a sort button; `aria-sort` holds the state. */
export function SortHead({ children, field, sort, onSort, className, after, label }: SortButtonProps) {
  const [shown, choose] = useShownFirst(sort, next => next && onSort(next))
  const isAscending = shown === field
  const isDescending = shown === `-${field}`
  const Icon = isDescending ? ArrowDown : ArrowUp
  return (
    <th
      scope="col"
      className={className}
      aria-label={label}
      {...(isAscending && { 'aria-sort': 'ascending' })}
      {...(isDescending && { 'aria-sort': 'descending' })}
    >
      <button
        type="button"
        aria-description={isAscending ? 'Sort descending' : 'Sort ascending'}
        onClick={() => choose(isAscending ? `-${field}` : field)}
      >
        {children}
        {(isAscending || isDescending) && <Icon className="i i-14" aria-hidden />}
      </button>
      {after}
    </th>
  )
}

/** The head of a column of buttons. */
export function ActionsHead() {
  return (
    <th scope="col">
      <span className="sr">Actions</span>
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
  /** On phones each row becomes lines of label and value. The label is in the cell's `data-k`. */
  rowsOnPhones?: boolean
  /**
   * Fixed widths of the columns in pixels, so that content does not move them. A column without a width takes the remaining
   * width.
   */
  widths?: readonly (number | undefined)[]
  /** Omits the panel around the table, for use inside another panel. */
  bare?: boolean
}

/** A table in a bordered panel. The panel scrolls when the table is wider than the screen. */
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
  const table = useRef<HTMLTableElement>(null)
  const isNarrow = useIsNarrow()
  // Memoized, so that scrolling does not render unchanged rows again.
  const rows = useMemo(() => Children.toArray(children), [children])
  const keyOf = (index: number) => String((rows[index] as ReactElement).key)
  const { isVirtual, items, gapAtEnd, measure, onFocus, onBlur } = useVirtualRows({
    table,
    count: rows.length,
    rowHeight: isNarrow && rowsOnPhones ? ROW_HEIGHT_ON_PHONES : dense ? DENSE_ROW_HEIGHT : ROW_HEIGHT,
    keyOf,
  })
  const columns = table.current?.tHead?.rows[0]?.cells.length ?? 1
  const className = `tbl${dense ? ' dense' : ''}${rowsOnPhones ? ' rows' : ''}${widths ? ' fixed' : ''}`
  return (
    <div className={bare ? 'bare' : 'sheet'}>
      <table
        // biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens
        role="table"
        ref={table}
        className={className}
        aria-busy={busy}
        onFocus={onFocus}
        onBlur={onBlur}
        {...(isVirtual && { 'aria-rowcount': rows.length + 1 })}
      >
        <caption className="sr">{caption}</caption>
        {widths && (
          <colgroup>
            {widths.map((width, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column has no identity but its position
              <col key={index} width={width} />
            ))}
          </colgroup>
        )}
        <thead>{head}</thead>
        <tbody>
          <TimesTogether>
            {items.map(({ index, gap }) => (
              <Fragment key={keyOf(index)}>
                <Gap height={gap} columns={columns} />
                <Place value={measure && { index, measure }}>{rows[index]}</Place>
              </Fragment>
            ))}
            <Gap height={gapAtEnd} columns={columns} />
          </TimesTogether>
        </tbody>
      </table>
    </div>
  )
}

const ROW_HEIGHT = 44
const DENSE_ROW_HEIGHT = 38
const ROW_HEIGHT_ON_PHONES = 130

/** Index and measuring ref of a row in a virtualized table. */
const Place = createContext<{ index: number; measure: (row: HTMLElement | null) => void } | undefined>(
  undefined,
)

/** A table row. `detail` marks the unfolded details of the row above. */
export function Row({ detail = false, children }: { detail?: boolean; children: ReactNode }) {
  const place = useContext(Place)
  return (
    <tr
      // biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens
      role="row"
      className={detail ? 'detail' : undefined}
      {...(place && { ref: place.measure, 'data-index': place.index, 'aria-rowindex': place.index + 2 })}
    >
      {children}
    </tr>
  )
}

type CellProps = {
  /** The column's name, shown beside the value on phones. */
  label?: string
  /** Aligns the cell to the right edge, for buttons. */
  end?: boolean
  span?: number
  children: ReactNode
}

/** A cell of a row. */
export function Cell({ label, end = false, span, children }: CellProps) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens
    <td role="cell" data-k={label} className={end ? 'r' : undefined} colSpan={span}>
      {children}
    </td>
  )
}
