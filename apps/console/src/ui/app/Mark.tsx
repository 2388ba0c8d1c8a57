import type { ReactNode } from 'react'

export type MarkState = 'on' | 'off' | 'pending'

const CLASS: Record<MarkState, string> = { on: 'mark on', off: 'mark offl', pending: 'mark pend' }

const GLYPH: Record<MarkState, ReactNode> = {
  on: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  off: <circle cx="5" cy="5" r="3.5" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  pending: <path d="M5 .8 9.2 5 5 9.2.8 5z" fill="currentColor" />,
}

/** A state as a shape (filled circle, ring or diamond) with its word. Without children only the shape is shown. */
export function Mark({ state, children }: { state: MarkState; children?: ReactNode }) {
  return (
    <span className={CLASS[state]}>
      <svg className="g" viewBox="0 0 10 10" aria-hidden="true">
        {GLYPH[state]}
      </svg>
      {children}
    </span>
  )
}
