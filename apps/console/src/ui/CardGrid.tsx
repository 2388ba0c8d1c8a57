import { Children, type ReactNode } from 'react'

/** From here on cards out of sight are not laid out. */
const MANY = 24

type CardGridProps = {
  /** Says what is loading while it is. */
  busyLabel?: string | undefined
  children: ReactNode
}

/** Cards in three columns, fewer on small screens. */
export function CardGrid({ busyLabel, children }: CardGridProps) {
  return (
    <>
      {busyLabel && <span className="sr">{busyLabel}</span>}
      <ul
        className={Children.count(children) > MANY ? 'grid3 many' : 'grid3'}
        aria-busy={busyLabel !== undefined}
      >
        {children}
      </ul>
    </>
  )
}
