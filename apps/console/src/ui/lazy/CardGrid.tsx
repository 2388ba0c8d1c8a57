import { Children, type ReactNode } from 'react'
import styles from './Card.module.css'

/** Number of cards above which cards outside of the viewport are not laid out (`content-visibility`). */
const MANY = 24

type CardGridProps = {
  /** Lower minimum height, for cards with one or two lines below the id. */
  low?: boolean
  /** Text for screen readers while the list loads. */
  busyLabel?: string | undefined
  children: ReactNode
}

/** Cards in three columns, fewer on small screens. */
export function CardGrid({ low = false, busyLabel, children }: CardGridProps) {
  return (
    <>
      {busyLabel && <span className="visually-hidden">{busyLabel}</span>}
      <ul
        className={`${styles.grid} ${Children.count(children) > MANY ? styles.many : ''} ${low ? styles.low : ''}`}
        aria-busy={busyLabel !== undefined}
      >
        {children}
      </ul>
    </>
  )
}
