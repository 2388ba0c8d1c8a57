import type { CSSProperties, ReactNode } from 'react'
import styles from './ShareBar.module.css'

type ShareBarProps = {
  /** From 0 to 1. */
  share: number
  isLow: boolean
  /** The share in words. */
  children: ReactNode
}

/** A bar for the share that is left of something, such as a disk, with the share in words beside it. */
export function ShareBar({ share, isLow, children }: ShareBarProps) {
  return (
    <span className={`row ${styles.share} ${isLow ? styles.low : ''}`}>
      <i style={{ '--share': `${share * 100}%` } as CSSProperties} />
      <span className="tabular">{children}</span>
    </span>
  )
}
