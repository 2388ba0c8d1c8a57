import { type ReactNode, useId } from 'react'

type SectionProps = {
  /** Anchor for links within the page. */
  id?: string
  title: string
  /** Text, badges or buttons at the end of the heading's line. */
  aside?: ReactNode
  /** Pads the content; off for tables and lists that reach the edges. */
  padded?: boolean
  children: ReactNode
}

/** A bordered panel with a heading. */
export function Section({ id, title, aside, padded = true, children }: SectionProps) {
  const headingId = useId()
  return (
    <section className="sheet sec" id={id} aria-labelledby={headingId}>
      <header>
        <h2 id={headingId}>{title}</h2>
        {aside}
      </header>
      {padded ? <div className="in">{children}</div> : children}
    </section>
  )
}
