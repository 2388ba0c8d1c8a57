type SwitchProps = {
  /** Accessible name; the table's column head is what people see. */
  label: string
  checked: boolean
  onChange: (checked: boolean) => void
  /** The change is being saved; further clicks are ignored. */
  busy?: boolean
}

/** A switch that applies at once. */
export function Switch({ label, checked, onChange, busy = false }: SwitchProps) {
  return (
    <button
      type="button"
      role="switch"
      className="toggle"
      aria-label={label}
      aria-checked={checked}
      {...(busy && { 'aria-busy': true, 'aria-disabled': true })}
      onClick={() => !busy && onChange(!checked)}
    >
      <i aria-hidden="true" />
      <span aria-hidden="true">{checked ? 'On' : 'Off'}</span>
    </button>
  )
}
