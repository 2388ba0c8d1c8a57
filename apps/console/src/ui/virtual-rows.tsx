import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type FocusEvent, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** Tables with so many rows draw only those near the window. */
const VIRTUAL_FROM = 201

type VirtualRowsOptions = {
  table: RefObject<HTMLTableElement | null>
  count: number
  /** What a row is likely to measure, in pixels. */
  rowHeight: number
  keyOf: (index: number) => string
}

/**
 * The rows of a table to draw: up to 200 all of them, of more those near the window, and the one with the focus however far it has
 * been scrolled away.
 */
export function useVirtualRows({ table, count, rowHeight, keyOf }: VirtualRowsOptions) {
  const [scrollMargin, setScrollMargin] = useState(0)
  const focused = useRef<number>(undefined)

  // What stands above the table may change its height at any time.
  useLayoutEffect(() => {
    if (table.current) setScrollMargin(Math.round(table.current.getBoundingClientRect().top + window.scrollY))
  })
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    overscan: 12,
    scrollMargin,
    rangeExtractor: range => withFocused(range, focused.current),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights differ between rows and cards
  useEffect(() => rows.measure(), [rowHeight])

  const isVirtual = count >= VIRTUAL_FROM
  const near = rows.getVirtualItems()
  return {
    isVirtual,
    range: rows.range ?? { startIndex: 0, endIndex: 0 },
    /** Rows to draw, each with the height of those before it that are not drawn. A list that grows keeps its rows, and their focus. */
    items: isVirtual
      ? near.map(({ index, start }, at) => ({ index, gap: start - (near[at - 1]?.end ?? scrollMargin) }))
      : Array.from({ length: count }, (_, index) => ({ index, gap: 0 })),
    /** The height of the rows behind the last one. */
    gapAtEnd: isVirtual ? rows.getTotalSize() + scrollMargin - (near.at(-1)?.end ?? scrollMargin) : 0,
    /** Goes on each row, with its index as `data-index`. */
    measure: isVirtual ? rows.measureElement : undefined,
    onFocus({ target }: FocusEvent) {
      const row = target.closest<HTMLElement>('tr[data-index]')?.dataset.index
      focused.current = row === undefined ? undefined : Number(row)
    },
    onBlur() {
      focused.current = undefined
    },
  }
}

function withFocused(range: Range, focused: number | undefined): number[] {
  const indexes = defaultRangeExtractor(range)
  if (focused === undefined || focused >= range.count || indexes.includes(focused)) return indexes
  return [...indexes, focused].sort((a, b) => a - b)
}

/** Room in place of rows that are not drawn. */
export function Gap({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null
  const style = { height, padding: 0, border: 0 }
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus
    <tr aria-hidden="true" style={style}>
      <td colSpan={columns} style={style} />
    </tr>
  )
}
