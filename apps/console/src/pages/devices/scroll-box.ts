import type { CSSProperties } from 'react'

/** A box around a table that scrolls where the table is wider; positioned, or hidden texts would widen the page. */
export const SCROLL_BOX: CSSProperties = { position: 'relative', overflowX: 'auto' }
