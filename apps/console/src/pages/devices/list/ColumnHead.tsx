import { ListFilterPlus } from 'lucide-react'
import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { nameWidth } from '../../../ui/app/CutMiddle.tsx'
import { SortHead } from '../../../ui/app/column-heads.tsx'
import styles from './ColumnHead.module.css'
import { LAST_ERROR, propertyOf } from './column-ids.ts'
import columnStyles from './columns.module.css'
import { columnOf } from './columns.tsx'
import { type DeviceTableModel, MAX_WIDTH_PX, MIN_WIDTH_PX } from './device-table.ts'

/** Change of a column's width in pixels by an arrow key. */
const STEP_PX = 8
/** Padding of a cell, left and right together, as in columns.module.css. */
const PADDING_PX = 20

type ColumnHeadProps = {
  column: ReturnType<DeviceTableModel['getVisibleLeafColumns']>[number]
  /** Whether the column is shown because of a condition in the filter. */
  isMatched: boolean
  /** Whether the column shows a member of a JSON property, such as `a.b`. The hub cannot sort by members. */
  isMember: boolean
  /** Longest text of the loaded rows. In the default view the column is as wide as this text, whichever rows are rendered. */
  longest: string | undefined
  sort: string
  onSort: (sort: string) => void
}

/** Head of a column: its name, which sorts the list if the hub can sort by this column, and an edge that changes the width. */
export function ColumnHead({ column, isMatched, isMember, longest, sort, onSort }: ColumnHeadProps) {
  const { label: name, sort: field, className } = columnOf(column.id)
  const path = propertyOf(column.id)
  // The column of a preset has words. Where a person has chosen it, it has its path, as in the list of columns.
  const label = isMatched && path === LAST_ERROR ? 'Last error' : name
  const words =
    path === undefined ? (
      label
    ) : (
      <span className={`row ${styles.path}`} title={path}>
        {isMatched && <ListFilterPlus className="icon small-icon" aria-hidden />}
        {/* The path is cut at its beginning, because paths differ at their ends. `bdi` keeps the dots of the path in their places. */}
        <span className="truncated" dir="rtl">
          <bdi dir="ltr">{label}</bdi>
        </span>
      </span>
    )
  const edge = (
    <>
      {longest !== undefined && <span className={columnStyles.longest} data-text={longest} />}
      <Edge column={column} label={label} />
    </>
  )
  if (field && !isMember)
    return (
      <SortHead className={className} field={field} sort={sort} onSort={onSort} after={edge} label={label}>
        {words}
      </SortHead>
    )
  return (
    <th scope="col" className={className} aria-label={label}>
      {words}
      {edge}
    </th>
  )
}

/** Right edge of a column's head. Dragging and arrow keys change the width, a double click fits it to the rows on screen. */
function Edge({ column, label }: { column: ColumnHeadProps['column']; label: string }) {
  const start = useRef<{ x: number; widthPx: number }>(undefined)
  const setWidth = (widthPx: number) => {
    const limited = Math.round(Math.min(Math.max(widthPx, MIN_WIDTH_PX), MAX_WIDTH_PX))
    column.table.setColumnSizing(widths => ({ ...widths, [column.id]: limited }))
  }
  const shownPx = (edge: HTMLElement) => edge.closest('th')!.getBoundingClientRect().width

  function onPointerDown(event: PointerEvent<HTMLElement>) {
    event.preventDefault()
    event.currentTarget.setPointerCapture(event.pointerId)
    start.current = { x: event.clientX, widthPx: shownPx(event.currentTarget) }
  }
  function onPointerMove({ clientX }: PointerEvent) {
    if (start.current) setWidth(start.current.widthPx + clientX - start.current.x)
  }
  function onKeyDown(event: KeyboardEvent<HTMLElement>) {
    const step = event.key === 'ArrowRight' ? STEP_PX : event.key === 'ArrowLeft' ? -STEP_PX : 0
    if (step === 0) return
    event.preventDefault()
    setWidth(shownPx(event.currentTarget) + step)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: an `hr` cannot be dragged or focused
    <span
      className={styles.edge}
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${label}`}
      aria-valuenow={column.getSize()}
      aria-valuemin={MIN_WIDTH_PX}
      aria-valuemax={MAX_WIDTH_PX}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={() => {
        start.current = undefined
      }}
      onDoubleClick={({ currentTarget }) => setWidth(fittingWidth(currentTarget.closest('th')!))}
      onKeyDown={onKeyDown}
    />
  )
}

/** Width in pixels at which the rendered cells of a column show their whole text. */
function fittingWidth(head: HTMLTableCellElement): number {
  const rows = head.closest('table')!.tBodies[0]!.rows
  const cells = [...rows].map(row => row.cells[head.cellIndex]).filter(cell => cell?.colSpan === 1)
  const widths = [head, ...cells].map(cell => {
    const range = document.createRange()
    range.selectNodeContents(cell!)
    const inner = [...cell!.querySelectorAll('.truncated')].map(part =>
      part.querySelector('[data-cut]') ? nameWidth(part.textContent) + 4 : part.scrollWidth,
    )
    return Math.max(range.getBoundingClientRect().width, ...inner)
  })
  return Math.max(...widths) + PADDING_PX
}
