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
import { SortHead } from '../app/column-heads.tsx'
import { ListFailed } from '../app/ListPage.tsx'
import { TimesTogether } from '../app/Time.tsx'
import { Gap, useVirtualRows } from '../app/virtual-rows.tsx'
import { SkeletonRows } from '../Skeleton.tsx'

/** A column of a table. The cells of a row are in the order of the columns. */
export type Column = {
  /** Name in the head and, on phones, beside the value. */
  name: string
  /** Text of the head, if it says more than the name. */
  head?: string
  /** `title` is the first line of a row on phones, wherever its column is, and has no name there. `actions` holds buttons. */
  kind?: 'title' | 'actions'
  /** Field by which a press on the head sorts the list. */
  sort?: string
  /** CSS class of its cells. */
  className?: string
  /** Fixed width in pixels, so that content does not move the columns. A column without a width takes the remaining width. */
  widthPx?: number
}

/** Last column of a table, with buttons. */
export const ACTIONS: Column = { name: 'Actions', kind: 'actions' }

type TableProps = {
  /** Name of the table for screen readers. */
  caption: string
  columns: readonly Column[]
  /** Rows; `undefined` while they load. */
  rows: readonly ReactNode[] | undefined
  /** Content in place of the rows when there are none, for example `NoMatch`. */
  none?: ReactNode
  /** Number of skeleton rows while the list loads. */
  bars?: number
  /** Current sort order: the name of a field, with a leading `-` if it is descending. */
  sort?: string | undefined
  onSort?: (sort: string) => void
  className?: string
  dense?: boolean
  /** Form of each row on phones: lines of name and value, or a card that the page lays out. Null leaves it a row. */
  onPhones?: 'rows' | 'cards' | null
  /** Omits the panel around the table, for use inside another panel. */
  bare?: boolean
}

/**
 * A table in a bordered panel, which scrolls when the table is wider than the screen. Shows skeleton rows while its list loads, and says
 * when the first load failed or no row matches the filter.
 */
export function Table({
  caption,
  columns,
  rows: given,
  none,
  bars = 8,
  sort,
  onSort = () => {},
  className = '',
  dense = false,
  onPhones = 'rows',
  bare = false,
}: TableProps) {
  const table = useRef<HTMLTableElement>(null)
  const isNarrow = useIsNarrow()
  const isFailed = useContext(ListFailed)
  // Memoized, so that scrolling does not render unchanged rows again.
  const rows = useMemo(() => {
    if (given?.length) return Children.toArray(given)
    if (given) return none ? [<WideRow key="none">{none}</WideRow>] : []
    if (!isFailed) return [<SkeletonRows key="loading" columns={columns.length} rows={bars} />]
    return [
      <WideRow key="failed">
        <span className="muted">Not loaded.</span>
      </WideRow>,
    ]
  }, [given, none, bars, isFailed, columns])
  const keyOf = (index: number) => String((rows[index] as ReactElement).key)
  const { isVirtual, items, gapAtEnd, measure, onFocus, onBlur } = useVirtualRows({
    table,
    count: rows.length,
    rowHeight: isNarrow && onPhones === 'rows' ? ROW_HEIGHT_ON_PHONES : dense ? DENSE_ROW_HEIGHT : ROW_HEIGHT,
    keyOf,
  })
  const isFixed = columns.some(({ widthPx }) => widthPx)
  return (
    <div className={bare ? 'bare' : 'sheet'}>
      <table
        // biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens
        role="table"
        ref={table}
        className={`table ${className}`}
        data-dense={dense || undefined}
        data-fixed={isFixed || undefined}
        data-on-phones={onPhones ?? undefined}
        aria-busy={!given && !isFailed}
        onFocus={onFocus}
        onBlur={onBlur}
        {...(isVirtual && { 'aria-rowcount': rows.length + 1 })}
      >
        <caption className="visually-hidden">{caption}</caption>
        {isFixed && (
          <colgroup>
            {columns.map(({ name, widthPx }) => (
              <col key={name} width={widthPx} />
            ))}
          </colgroup>
        )}
        <thead>
          <tr>
            {columns.map(column => (
              <ColumnHead key={column.name} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Columns value={columns}>
            <TimesTogether>
              {items.map(({ index, gap }) => (
                <Fragment key={keyOf(index)}>
                  <Gap height={gap} columns={columns.length} />
                  <Place value={measure && { index, measure }}>{rows[index]}</Place>
                </Fragment>
              ))}
              <Gap height={gapAtEnd} columns={columns.length} />
            </TimesTogether>
          </Columns>
        </tbody>
      </table>
    </div>
  )
}

const ROW_HEIGHT = 44
const DENSE_ROW_HEIGHT = 38
const ROW_HEIGHT_ON_PHONES = 130

type ColumnHeadProps = { column: Column; sort: string | undefined; onSort: (sort: string) => void }

function ColumnHead({ column: { name, head = name, kind, sort: field }, sort, onSort }: ColumnHeadProps) {
  if (!field)
    return <th scope="col">{kind === 'actions' ? <span className="visually-hidden">{name}</span> : head}</th>
  return (
    <SortHead field={field} sort={sort} onSort={onSort}>
      {head}
    </SortHead>
  )
}

const Columns = createContext<readonly Column[]>([])
/** Column of a cell. */
const At = createContext<Column | undefined>(undefined)
/** Index and measuring ref of a row in a virtualized table. */
const Place = createContext<{ index: number; measure: (row: HTMLElement | null) => void } | undefined>(
  undefined,
)

/** A table row with one `Cell` for each column. */
export function Row({ children }: { children: ReactNode }) {
  const columns = useContext(Columns)
  return (
    <Line>
      {Children.toArray(children).map((cell, index) => (
        <At key={columns[index]?.name} value={columns[index]}>
          {cell}
        </At>
      ))}
    </Line>
  )
}

/** A row with one cell over all columns. `detail` marks the unfolded details of the row above. */
export function WideRow({ detail = false, children }: { detail?: boolean; children: ReactNode }) {
  const columns = useContext(Columns)
  return (
    <Line detail={detail}>
      {/* biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens */}
      <td role="cell" colSpan={columns.length}>
        {children}
      </td>
    </Line>
  )
}

function Line({ detail = false, children }: { detail?: boolean; children: ReactNode }) {
  const place = useContext(Place)
  return (
    <tr
      // biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens
      role="row"
      data-detail={detail || undefined}
      {...(place && { ref: place.measure, 'data-index': place.index, 'aria-rowindex': place.index + 2 })}
    >
      {children}
    </tr>
  )
}

/** A cell of a row. Its column gives the name that phones show beside the value. */
export function Cell({ children }: { children: ReactNode }) {
  const { name, kind, className } = useContext(At) ?? {}
  return (
    <td
      // biome-ignore lint/a11y/noRedundantRoles: browsers drop the implicit role when CSS changes `display` on small screens
      role="cell"
      data-k={kind ? undefined : name}
      data-title={kind === 'title' || undefined}
      className={kind === 'actions' ? `end ${className ?? ''}` : className}
    >
      {children}
    </td>
  )
}
