import type { ReactNode } from 'react'

/** The last line of a form in a panel: what the change means, then the buttons. */
export function SaveBar({ note, children }: { note?: ReactNode; children: ReactNode }) {
  return (
    <div className="savebar">
      <span>{note}</span>
      {children}
    </div>
  )
}
