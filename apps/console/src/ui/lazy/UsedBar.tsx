import type { CSSProperties, ReactNode } from 'react'
import styles from './UsedBar.module.css'

/** Share of free space (0.15 is 15 %) below which a disk is amber. */
export const LOW_SHARE = 0.15
/** Share of free space below which a disk is red. */
const VERY_LOW_SHARE = 0.05

type UsedBarProps = {
  /** Free share, from 0 to 1. */
  freeShare: number
  /** The free space in words. */
  children: ReactNode
}

/** A bar that is filled by the used space of a disk, with the free space in words beside it. */
export function UsedBar({ freeShare, children }: UsedBarProps) {
  const tone = freeShare < VERY_LOW_SHARE ? 'bad' : freeShare < LOW_SHARE ? 'warn' : undefined
  return (
    <span className={`row ${styles.share}`} data-tone={tone}>
      <i style={{ '--share': `${(1 - freeShare) * 100}%` } as CSSProperties} />
      <span className="tabular">{children}</span>
    </span>
  )
}
