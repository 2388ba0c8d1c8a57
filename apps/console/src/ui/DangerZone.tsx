import { type ReactNode, useId } from 'react'

/** The last sheet of a page: what cannot be undone. */
export function DangerZone({ id, children }: { id?: string; children: ReactNode }) {
  const headingId = useId()
  return (
    <section className="sheet sec dz" {...(id && { id })} aria-labelledby={headingId}>
      <header>
        <h2 id={headingId}>Danger Zone</h2>
      </header>
      {children}
    </section>
  )
}

type DangerLineProps = { name: string; consequence: ReactNode; button: ReactNode }

/** One destructive action: its name, what follows from it, its button. */
export function DangerLine({ name, consequence, button }: DangerLineProps) {
  return (
    <div className="line">
      <div className="grow">
        <h3>{name}</h3>
        <p>{consequence}</p>
      </div>
      {button}
    </div>
  )
}
