import type { ReactNode } from 'react'

/** The last line of a form in a panel: the consequence of the change (`note`), then the buttons. */
export function SaveBar({ note, children }: { note?: ReactNode; children: ReactNode }) {
  return (
    <div className="savebar">
      <span>{note}</span>
      {children}
    </div>
  )
}
