import type { ReactNode } from 'react'
import type { IconType } from '../icon.ts'
import { ResultIcon } from '../Result.tsx'
import styles from './EmptyState.module.css'

type EmptyStateProps = {
  icon: IconType
  title: string
  children?: ReactNode
  action?: ReactNode
  tone?: 'neutral' | 'bad'
  /** Omits the panel around the content, for use inside another panel. */
  bare?: boolean
}

/** Replaces an empty list: icon, title, one sentence and one action. */
export function EmptyState({ icon, title, children, action, tone = 'neutral', bare }: EmptyStateProps) {
  return (
    <div className={bare ? styles.empty : `sheet ${styles.empty}`}>
      <ResultIcon tone={tone} icon={icon} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}
