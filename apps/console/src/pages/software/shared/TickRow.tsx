import type { CSSProperties } from 'react'
import styles from './TickRow.module.css'
import type { TickState } from './ticks.ts'

type TickRowProps = { parts: readonly { state: TickState; ticks: number }[] }

/** A row of ticks. Each state has its own height and shape, so that it is readable without colour. Screen readers skip it. */
export function TickRow({ parts }: TickRowProps) {
  return (
    <div className={styles.row} aria-hidden="true">
      {parts
        .filter(({ ticks }) => ticks > 0)
        .map(({ state, ticks }) => (
          <i key={state} data-state={state} style={{ '--ticks': ticks } as CSSProperties} />
        ))}
    </div>
  )
}

/** The shape of a state as the sign of a label. */
export function TickSign({ state }: { state: TickState }) {
  return (
    <span className={`${styles.row} ${styles.sign}`} aria-hidden="true">
      <i data-state={state} />
    </span>
  )
}
