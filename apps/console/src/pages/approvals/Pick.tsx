import type { MouseEvent } from 'react'
import styles from './PendingTable.module.css'

type PickProps = {
  /** Accessible name, for example "Select crane-gw-1277". */
  label: string
  /** `some` is the state of a head or group of which some rows are selected. */
  state: 'all' | 'some' | 'none'
  /** `isRange` is true for a click with Shift. */
  onToggle: (isRange: boolean) => void
}

/** A checkbox that selects rows, with a target of 44 px on touch screens. */
export function Pick({ label, state, onToggle }: PickProps) {
  return (
    <label className={styles.pick}>
      <input
        type="checkbox"
        aria-label={label}
        checked={state === 'all'}
        ref={input => {
          if (input) input.indeterminate = state === 'some'
        }}
        onChange={() => {}}
        onClick={(event: MouseEvent<HTMLInputElement>) => onToggle(event.shiftKey)}
      />
    </label>
  )
}
