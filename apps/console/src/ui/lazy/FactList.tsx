import type { ReactNode } from 'react'
import styles from './FactList.module.css'

type FactListProps = {
  /** Number of columns in wide windows. */
  columns?: 2 | 3 | 6
  className?: string
  children: ReactNode
}

/** Facts in columns, each with its label above it. */
export function FactList({ columns = 3, className = '', children }: FactListProps) {
  return (
    <dl className={`touch-area ${styles.facts} ${className}`} data-columns={columns}>
      {children}
    </dl>
  )
}

type FactProps = { label: string; mono?: boolean; children: ReactNode }

/** A label and its value in a list of facts (`dl`). `mono` shows the value in the monospace font, for texts that machines read. */
export function Fact({ label, mono = false, children }: FactProps) {
  return (
    <div>
      <dt className="tiny muted">{label}</dt>
      <dd className={mono ? 'break-anywhere mono' : 'break-anywhere'}>{children}</dd>
    </div>
  )
}
