import type { ReactNode } from 'react'
import styles from './SaveBar.module.css'

/** The last line of a form in a panel: the consequence of the change (`note`), then the buttons. */
export function SaveBar({ note, children }: { note?: ReactNode; children: ReactNode }) {
  return (
    <div className={`row ${styles.bar}`}>
      <span>{note}</span>
      {children}
    </div>
  )
}
