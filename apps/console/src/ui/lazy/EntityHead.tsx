import type { ReactNode } from 'react'
import styles from './EntityHead.module.css'

type EntityHeadProps = {
  title: ReactNode
  /** States beside the title. */
  badges?: ReactNode
  /** Id, times and other facts below the title. */
  facts: ReactNode
  /** Line below the facts. */
  below?: ReactNode
  /** Time of the last refresh and buttons at the end of the line. */
  actions?: ReactNode
}

/** Head of the page of one device or one version. A route change moves the focus to its title. */
export function EntityHead({ title, badges, facts, below, actions }: EntityHeadProps) {
  return (
    <div className={styles.head}>
      <div className="grow">
        <div className={`wrap ${styles.title}`}>
          <h1 tabIndex={-1} className="break-anywhere">
            {title}
          </h1>
          <span className="row">{badges}</span>
        </div>
        <div className={`touch-area muted wrap ${styles.facts}`}>{facts}</div>
        {below}
      </div>
      {actions && <div className={`row ${styles.actions}`}>{actions}</div>}
    </div>
  )
}
