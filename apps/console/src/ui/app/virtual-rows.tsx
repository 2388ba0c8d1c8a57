import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type FocusEvent, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** Minimum number of rows at which a table renders only the rows near the viewport. */
const VIRTUAL_FROM = 201

type VirtualRowsOptions = {
  table: RefObject<HTMLTableElement | null>
  count: number
  /** Estimated height of a row in pixels. */
  rowHeight: number
  keyOf: (index: number) => string
}

/**
 * The rows of a table to render. Up to 200 rows, all rows are rendered. Above that, only the rows near the viewport and
 * the focused row are rendered.
 */
export function useVirtualRows({ table, count, rowHeight, keyOf }: VirtualRowsOptions) {
  const [scrollMargin, setScrollMargin] = useState(0)
  const focused = useRef<number>(undefined)

  // Measures after every render, because the content above the table may change its height at any time.
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height changes between table rows and cards
  useEffect(() => rows.measure(), [rowHeight])

  const isVirtual = count >= VIRTUAL_FROM
  const near = rows.getVirtualItems()
  return {
    isVirtual,
    range: rows.range ?? { startIndex: 0, endIndex: 0 },
    /** Rows to render. `gap` is the height in pixels of the unrendered rows between the previous rendered row and this row. */
    items: isVirtual
      ? near.map(({ index, start }, at) => ({ index, gap: start - (near[at - 1]?.end ?? scrollMargin) }))
      : Array.from({ length: count }, (_, index) => ({ index, gap: 0 })),
    /** Height in pixels of the rows after the last rendered row. */
    gapAtEnd: isVirtual ? rows.getTotalSize() + scrollMargin - (near.at(-1)?.end ?? scrollMargin) : 0,
    /** Ref for each row; the row also needs its index as `data-index`. */
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

/** An empty row with the height of the rows that are not rendered. */
export function Gap({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null
  const style = { height, padding: 0, border: 0 }
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it contains nothing focusable
    <tr aria-hidden="true" style={style}>
      <td colSpan={columns} style={style} />
    </tr>
  )
}
