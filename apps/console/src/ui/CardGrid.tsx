import { Children, type ReactNode } from 'react'

/** From here on cards out of sight are not laid out. */
const MANY = 24

type CardGridProps = {
  /** For cards that hold a line or two below the id. */
  low?: boolean
  /** Says what is loading while it is. */
  busyLabel?: string | undefined
  children: ReactNode
}

/** Cards in three columns, fewer on small screens. */
export function CardGrid({ low = false, busyLabel, children }: CardGridProps) {
  return (
    <>
      {busyLabel && <span className="sr">{busyLabel}</span>}
      <ul
        className={`grid3${Children.count(children) > MANY ? ' many' : ''}${low ? ' low' : ''}`}
        aria-busy={busyLabel !== undefined}
      >
        {children}
      </ul>
    </>
  )
}
