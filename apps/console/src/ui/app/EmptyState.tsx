import type { ReactNode } from 'react'
import type { IconType } from '../icon.ts'

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
export function EmptyState({ icon: Icon, title, children, action, tone = 'neutral', bare }: EmptyStateProps) {
  return (
    <div className={bare ? 'empty' : 'sheet empty'}>
      <div className={tone === 'bad' ? 'ico bad' : 'ico'}>
        <Icon className="i" aria-hidden />
      </div>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}
