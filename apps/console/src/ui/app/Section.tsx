import { type ReactNode, useId } from 'react'
import { formatCount } from '../../lib/app/format.ts'
import styles from './Section.module.css'

type SectionProps = {
  /** Anchor for links within the page. */
  id?: string
  className?: string
  title: string
  /** Number beside the title. */
  count?: number | undefined
  /** Text, badges or buttons at the end of the heading's line. */
  aside?: ReactNode
  /** Pads the content; off for tables and lists that reach the edges. */
  padded?: boolean
  children: ReactNode
}

/** A bordered panel with a heading. */
export function Section({ id, className = '', title, count, aside, padded = true, children }: SectionProps) {
  const headingId = useId()
  return (
    <section className={`sheet section ${className}`} id={id} aria-labelledby={headingId}>
      <header>
        <h2 id={headingId}>{title}</h2>
        {count !== undefined && <span className={styles.count}>{formatCount(count)}</span>}
        {aside}
      </header>
      {padded ? <div className="inset">{children}</div> : children}
    </section>
  )
}
