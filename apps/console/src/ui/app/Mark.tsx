import type { ReactNode } from 'react'
import styles from './Mark.module.css'

export type MarkState = 'on' | 'off' | 'pending' | 'healthy' | 'warning' | 'error'

const TONE: Record<MarkState, 'ok' | 'off' | 'warn' | 'bad'> = {
  on: 'ok',
  off: 'off',
  pending: 'warn',
  healthy: 'ok',
  warning: 'warn',
  error: 'bad',
}

const GLYPH: Record<MarkState, ReactNode> = {
  on: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  off: <circle cx="5" cy="5" r="3.5" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  pending: <path d="M5 .8 9.2 5 5 9.2.8 5z" fill="currentColor" />,
  healthy: (
    <path
      d="M1.4 5.4 3.9 7.9 8.6 2.3"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  ),
  warning: <path d="M5 1 9.6 9H.4z" fill="currentColor" />,
  error: <path d="M1.2 1.2h7.6v7.6H1.2z" fill="currentColor" />,
}

/** A state as a shape (filled circle, ring, diamond, tick, triangle or square) with its word. Without children only the shape is shown. */
export function Mark({ state, children }: { state: MarkState; children?: ReactNode }) {
  return (
    <span className="mark" data-tone={TONE[state]}>
      <svg className={styles.shape} viewBox="0 0 10 10" aria-hidden="true">
        {GLYPH[state]}
      </svg>
      {children}
    </span>
  )
}
