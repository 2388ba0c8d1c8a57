import { useHubLost } from '../use-hub-lost.ts'
import styles from './Switch.module.css'

type SwitchProps = {
  /** Accessible name. The switch shows no label of its own: the visible label is for example the head of its table column. */
  label: string
  checked: boolean
  onChange: (checked: boolean) => void
  /** Ignores clicks while the change is being saved. Omitted for a switch that works without the hub. */
  busy?: boolean
}

/** A switch that takes effect without a submit button. */
export function Switch({ label, checked, onChange, busy }: SwitchProps) {
  const lost = useHubLost(busy !== undefined)
  return (
    <button
      type="button"
      role="switch"
      className={styles.switch}
      aria-label={label}
      aria-checked={checked}
      {...lost}
      {...(busy && { 'aria-busy': true, 'aria-disabled': true })}
      onClick={() => !busy && !lost && onChange(!checked)}
    >
      <i aria-hidden="true" />
      <span aria-hidden="true">{checked ? 'On' : 'Off'}</span>
    </button>
  )
}
