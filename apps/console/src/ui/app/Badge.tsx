import type { ReactNode } from 'react'
import type { IconType } from '../icon.ts'
import styles from './Badge.module.css'

export type Tone = 'neutral' | 'ok' | 'warn' | 'bad' | 'info'

type BadgeProps = {
  tone?: Tone
  icon?: IconType
  /** Monospace style for states that machines report. The caller passes the text in upper case. */
  caps?: boolean
  /** Dashed outline, for a tag that cannot be moved from its package version to another. */
  locked?: boolean
  children: ReactNode
}

/** A state in one word. The icon makes the state readable without colour. */
export function Badge({ tone = 'neutral', icon: Icon, caps = false, locked = false, children }: BadgeProps) {
  return (
    <span
      className={caps ? `badge ${styles.caps}` : 'badge'}
      data-tone={tone === 'neutral' ? undefined : tone}
      data-locked={locked || undefined}
    >
      {Icon && <Icon className="icon" aria-hidden />}
      {children}
    </span>
  )
}
