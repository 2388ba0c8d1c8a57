import { type ReactNode, useId } from 'react'
import { formatCount } from '../../lib/app/format.ts'

type SectionProps = {
  /** Anchor for links within the page. */
  id?: string
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
export function Section({ id, title, count, aside, padded = true, children }: SectionProps) {
  const headingId = useId()
  return (
    <section className="sheet sec" id={id} aria-labelledby={headingId}>
      <header>
        <h2 id={headingId}>{title}</h2>
        {count !== undefined && <span className="c">{formatCount(count)}</span>}
        {count !== undefined && <span className="grow" />}
        {aside}
      </header>
      {padded ? <div className="in">{children}</div> : children}
    </section>
  )
}
